"""A loop whose published commands are held against the limits of its arm."""

from __future__ import annotations

from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray

from impact_control_ros.nodes.loop import LoopNode
from surfaces import BrokenPromiseError
from surfaces.command_watch import CommandWatch
from surfaces.graph import Graph, renew


class WatchedLoop:
    """A loop of a graph: each sample has to publish one command, which keeps the limits after the one before.

    A command that something else than a sample publishes counts with those of the next sample.
    """

    def __init__(self, graph: Graph, node: LoopNode, watch: CommandWatch) -> None:
        self.node = node
        self._watch = watch
        self._published = graph.commands[node]

    def renew(self) -> None:
        """Let the loop forget everything that came before; its arm has no torque."""
        self._published.clear()
        renew(self.node)
        self._watch.start()

    def sample(self, data: bytes) -> None:
        """Send a joint state; raise BrokenPromiseError for what is published then."""
        self.node.built._on_state(data)
        if len(self._published) != 1:
            raise BrokenPromiseError(f"{len(self._published)} commands for one sample")
        self._watch.look(deserialize_message(self._published.pop(), Float64MultiArray).data)
