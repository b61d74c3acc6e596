"""Verdicts on an impact: was its time and place expected, is the contact complete, and what came after it."""

from impact_control.classification.classifier import Classifier, Verdict
from impact_control.classification.contact_completion import CompletionParameters, ContactCompletion
from impact_control.classification.envelope import SignalEnvelope
from impact_control.classification.external_force import ExternalForce, external_force
from impact_control.classification.held_force import HeldForce, HeldForceParameters
from impact_control.classification.parameters import ClassifierParameters
from impact_control.classification.recorded_impact import Judgement, RecordedImpact, judge
from impact_control.classification.simultaneous_impact import SimultaneousImpactClassifier
from impact_control.classification.single_impact import SingleImpactClassifier
from impact_control.classification.tuning import Algorithm, GrayArea, SearchGrid, gray_area, is_unexpected, tune
from impact_control.classification.velocity_error import envelope_history

__all__ = [
    "Algorithm",
    "Classifier",
    "ClassifierParameters",
    "CompletionParameters",
    "ContactCompletion",
    "ExternalForce",
    "GrayArea",
    "HeldForce",
    "HeldForceParameters",
    "Judgement",
    "RecordedImpact",
    "SearchGrid",
    "SignalEnvelope",
    "SimultaneousImpactClassifier",
    "SingleImpactClassifier",
    "Verdict",
    "envelope_history",
    "external_force",
    "gray_area",
    "is_unexpected",
    "judge",
    "tune",
]
