"""Detectors on recordings of real arms: learned on one half, tried on the other, with contacts added to it."""
