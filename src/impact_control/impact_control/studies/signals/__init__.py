"""What is measured around one impact: momentum observer, references, signal envelope; see `proper_signals`."""
