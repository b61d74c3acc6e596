"""Looking on in the browser, from the command line: a graph that runs, or a recording that is played."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from impact_control.graph import View, viewer
from impact_control.nodes.graph_errors import NodeDiedError
from impact_control.nodes.runs import stoppable
from impact_control.nodes.session import Session
from impact_control.replay import ReplayedRun
from impact_control.view.drawing import address, close_server, open_server, require_viewable
from impact_control.view.player import play
from impact_control.view.recorded import Record, record_of_bag, record_of_replay
from impact_control.view.stage import Stage


def page(port: int, host: str) -> str:
    """Return what to open in the browser. Raises ViewError, MissingDependencyError when there can be no page."""
    require_viewable(port, host)
    return address(port, host)


def play_bag(bag: Path, port: int, host: str, tell: Callable[[str], None]) -> None:
    """Play a bag of this stack until Enter, Ctrl-C or SIGTERM; see `record_of_bag`. tell: is told where."""
    _play(*record_of_bag(bag), port, host, tell)


def play_replay(runs: Mapping[str, ReplayedRun], port: int, host: str, tell: Callable[[str], None]) -> None:
    """Play what was replayed until Enter, Ctrl-C or SIGTERM; see `record_of_replay`. tell: is told where."""
    _play(*record_of_replay(runs), port, host, tell)


def look_on(scenario: str, view: View, namespace: str, *, simulated: bool) -> None:
    """Show a graph that runs in this ROS domain until Ctrl-C or SIGTERM, which raises InterruptedByUserError.

    scenario: that the graph was started with. namespace: of the graph. simulated: see `graph.viewer`. Raises
    NodeDiedError when the viewer is lost.
    """
    with stoppable() as stop, TemporaryDirectory(prefix="impact_control_") as log:
        specs = [viewer(scenario, view, simulated=simulated)]
        with Session(specs, Path(log), namespace=namespace, stop_requested=stop) as session:
            session.start()
            while not session.losses:
                session.watch(1.0)
            raise NodeDiedError(session.losses[0], "")


def _play(stage: Stage, record: Record, port: int, host: str, tell: Callable[[str], None]) -> None:
    server = open_server(port, host)
    tell(f"To look at again: {address(port, host)} (reload the page); Enter or Ctrl-C ends.")
    with stoppable() as stop:
        play(server, stage, record, lambda: stop() or _enter_pressed())
    close_server(server)


def _enter_pressed() -> bool:
    """Whether a line waits on standard input; never where that is no terminal."""
    return sys.stdin.isatty() and bool(select.select([sys.stdin], [], [], 0.0)[0])
