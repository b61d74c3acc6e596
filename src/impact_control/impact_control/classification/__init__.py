"""Verdicts on an impact: was its time and place expected, and what came after it."""

from impact_control.classification.envelope import SignalEnvelope
from impact_control.classification.single_impact import (
    ClassifierParameters,
    SingleImpactClassifier,
    Verdict,
    envelope_history,
)

__all__ = ["ClassifierParameters", "SignalEnvelope", "SingleImpactClassifier", "Verdict", "envelope_history"]
