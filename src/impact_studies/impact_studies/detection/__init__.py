"""Parts of the benchmark of the impact detectors."""
