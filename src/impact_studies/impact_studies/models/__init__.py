"""Models of the sources that only studies use."""
