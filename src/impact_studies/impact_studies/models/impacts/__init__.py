"""Inverse inertia of impacts, and impacts along the normal integrated in time."""
