"""Everything here starts ROS nodes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fuzz")]


@pytest.fixture(scope="module")
def graph():
    """A ROS context for nodes that are called by hand."""
    from surfaces.graph import Graph

    graph = Graph()
    yield graph
    graph.close()


def pytest_collection_modifyitems(items):
    """Mark what lies in this directory."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.node)
