"""Signals around one impact: momentum observer, references, signal envelope; see `proper_signals`."""
