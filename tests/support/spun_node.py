"""A node whose callbacks run in a thread of their own, for what stands in for another process."""

from __future__ import annotations

import threading

import rclpy
from rclpy.executors import SingleThreadedExecutor


class SpunNode:
    """Attribute: node, to give services, actions and publishers to before `start`."""

    def __init__(self, name, context, namespace=None):
        self.node = rclpy.create_node(name, context=context, namespace=namespace)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._executor.spin)

    def start(self):
        self._thread.start()

    def close(self):
        self._executor.shutdown()
        self._thread.join()
        self.node.destroy_node()
