"""The trials of a case as HDF5, in the layout of docs/recordings.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from impact_control import __version__
from impact_control.recording.trials import Quantity, Source, Trial, TrialSet, write_trials
from impact_control.scenario import load_scenario
from impact_studies.net_feedback.outcome import CaseResult, along
from impact_studies.net_feedback.trial import TrialSignals

_ARM = {
    "position": ("m", "of the origin of E as measured, frame A"),
    "velocity": ("m/s", "of the origin of E as measured, frame A"),
    "ante_position": ("m", "ante-impact reference, frame A"),
    "ante_velocity": ("m/s", "ante-impact reference, frame A"),
    "post_position": ("m", "post-impact reference, frame A"),
    "post_velocity": ("m/s", "post-impact reference, frame A"),
    "feedback": ("m/s^2", "a_fb of van Steen 2024 (28), frame A"),
    "gamma": ("1", "blending of the velocity feedback, van Steen 2024 (24)"),
    "normal_force": ("N", "on the end-effector, sum of its contacts"),
    "rate_limited": ("1", "1 where the torque rate of a joint is at its limit"),
}

_OBJECT = {
    "object_position": ("position", "m", "of the centre, frame A"),
    "object_velocity": ("velocity", "m/s", "of the centre, frame A"),
    "object_orientation": ("orientation", "1", "quaternion x, y, z, w, frame A"),
}


def write_case(result: CaseResult, seed: int, path: Path) -> None:
    """Write all trials of a case to a file. Raises MissingDependencyError without h5py, InvalidInputError."""
    scene = load_scenario(result.case.name)
    names = scene.arm_names
    trials = tuple(_trial(result, names, trial.scale, trial.repetition, signals) for trial, signals in result.trials)
    write_trials(path, TrialSet(scene.to_yaml(), seed, __version__, trials))


def _trial(result: CaseResult, names: tuple[str, ...], scale: float, repetition: int, signals: TrialSignals) -> Trial:
    sources = {
        f"arm_{name}": Source(
            signals.time,
            {
                key: Quantity(np.asarray(getattr(signals, key)[k], dtype=float), unit, meaning)
                for key, (unit, meaning) in _ARM.items()
            },
        )
        for k, name in enumerate(names)
    }
    sources["object"] = Source(
        signals.time,
        {name: Quantity(getattr(signals, key), unit, meaning) for key, (name, unit, meaning) in _OBJECT.items()},
    )
    facts = {
        "reference_scale": (scale, "1", "velocity of the reference over the predicted one"),
        "repetition": (repetition, "1", "number of the trial at this scale"),
        "noise_seed": (signals.noise_seed, "1", "of the sensors"),
        "nominal_time": (result.nominal, "s", "T_nom, since the start of the task"),
        "predicted_velocity": (result.predicted[0], "m/s", "after the impact with B_theta, along the motion"),
        "net_feedback": (along(result.case, signals.net), "m/s", "van Steen 2024 (29) along the motion, mean of arms"),
    }
    for k, name in enumerate(names):
        facts[f"contact_time_{name}"] = (signals.contact_time[k], "s", "first contact; NaN without")
        facts[f"detection_time_{name}"] = (signals.detection_time[k], "s", "impact detected; NaN without")
        facts[f"impact_time_{name}"] = (signals.switch_time[k], "s", "T_imp: end of the ante-impact mode")
    return Trial(
        sources,
        {name: Quantity(np.array(value, dtype=float), unit, text) for name, (value, unit, text) in facts.items()},
    )
