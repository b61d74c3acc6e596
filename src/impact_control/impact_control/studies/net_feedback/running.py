"""Runs trials with their predictions and puts them together by case."""

from __future__ import annotations

from collections.abc import Sequence

from impact_control.scenario import load_scene
from impact_control.studies.net_feedback.outcome import CaseResult
from impact_control.studies.net_feedback.plan import TrialCase
from impact_control.studies.net_feedback.trial import PredictionCase, TrialSignals, run_prediction, run_trial
from impact_control.studies.study import Progress
from impact_control.studies.trials import from_arrays, run_trials, trials_directory


def evaluate(trials: Sequence[TrialCase], study: str, progress: Progress) -> list[CaseResult]:
    """Run trials and return a result for each case and change, in the order of their first trials."""
    predictions = list(dict.fromkeys(_prediction(trial) for trial in trials))
    directory = trials_directory(study)
    found = run_trials(run_trial, trials, directory, progress)
    impacts = run_trials(run_prediction, predictions, directory, lambda *_: None)
    signals = [from_arrays(TrialSignals, arrays) for arrays in found]
    return [
        CaseResult(
            case=prediction.case,
            before=float(impact["before"]),
            predicted=impact["after"],
            nominal=load_scene(prediction.case.name).task.impact_time,
            trials=[
                (trial, one) for trial, one in zip(trials, signals, strict=True) if _prediction(trial) == prediction
            ],
        )
        for prediction, impact in zip(predictions, impacts, strict=True)
    ]


def _prediction(trial: TrialCase) -> PredictionCase:
    return PredictionCase(trial.case, trial.changes)
