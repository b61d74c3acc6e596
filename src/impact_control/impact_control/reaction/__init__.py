"""Reaction to a verdict: go on, stop, pull back, or yield until nothing touches the arm and then go on."""

from impact_control.reaction.collision_reaction import CollisionReaction
from impact_control.reaction.quiet import Silence, is_touched

__all__ = ["CollisionReaction", "Silence", "is_touched"]
