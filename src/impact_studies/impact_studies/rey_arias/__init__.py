"""The experiments of Rey Arias 2024, section IV: published numbers, simulation, evaluation, tables, figures."""
