"""Observers and filters beside those of the loop."""
