"""Contact models and their parameters from measured impacts."""
