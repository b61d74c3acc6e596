"""One executable each."""
