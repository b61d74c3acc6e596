"""Verdicts on an impact: was its time and place expected, is the contact complete, and what came after it."""

from impact_control.classification.classifier import (
    FALL,
    GROWTH,
    HIDDEN,
    MISTAKEN,
    Classifier,
    Verdict,
    probability_expected,
)
from impact_control.classification.contact_completion import ContactCompletion
from impact_control.classification.contact_path import ContactPath
from impact_control.classification.envelope import SignalEnvelope
from impact_control.classification.external_force import ExternalForce, external_force
from impact_control.classification.held_force import HeldForce
from impact_control.classification.margin import EnvelopeMargin, fixed_margin, propagated_margin, remaining_error
from impact_control.classification.recorded_impact import Judgement, RecordedImpact, judge
from impact_control.classification.simultaneous_impact import SimultaneousImpactClassifier
from impact_control.classification.single_impact import SingleImpactClassifier
from impact_control.classification.tuning import (
    TUNED,
    Algorithm,
    Candidates,
    GrayArea,
    SearchGrid,
    gray_area,
    is_unexpected,
    tune,
)
from impact_control.classification.velocity_error import envelope_history

__all__ = [
    "FALL",
    "GROWTH",
    "HIDDEN",
    "MISTAKEN",
    "TUNED",
    "Algorithm",
    "Candidates",
    "Classifier",
    "ContactCompletion",
    "ContactPath",
    "EnvelopeMargin",
    "ExternalForce",
    "GrayArea",
    "HeldForce",
    "Judgement",
    "RecordedImpact",
    "SearchGrid",
    "SignalEnvelope",
    "SimultaneousImpactClassifier",
    "SingleImpactClassifier",
    "Verdict",
    "envelope_history",
    "external_force",
    "fixed_margin",
    "gray_area",
    "is_unexpected",
    "judge",
    "probability_expected",
    "propagated_margin",
    "remaining_error",
    "tune",
]
