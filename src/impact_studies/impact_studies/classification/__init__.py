"""The sweeps of Proper 2021, chapter 4: impacts of the planar arm on surfaces with an unexpected tilt, and verdicts."""
