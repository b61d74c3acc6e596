"""The experiments of Wang 2022, sections VI and VII: published numbers, predictions, simulation, evaluation."""
