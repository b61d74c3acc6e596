"""Errors, checks of input, array types, compiled kernels, YAML: what every package of the library uses."""
