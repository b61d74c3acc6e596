"""Player of a recording in the browser: at real speed or slower, paused, from any time on."""

from __future__ import annotations

import math
import select
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from impact_control.replay import ReplayedRun
from impact_control.util.stopping import stoppable
from impact_control.view.drawing import Drawing, address, close_server, open_server, require_viewable
from impact_control.view.frame import courses_of, frame_of
from impact_control.view.recorded import Record, record_of_bag, record_of_replay
from impact_control.view.stage import Stage

FRAME_PERIOD = 0.04
"""[s] of the wall clock between two frames."""

PANEL_EVERY, PLOTS_EVERY = 3, 5
"""Frames between two of the panel, and of the plots."""

SPEEDS = {"real time": 1.0, "1/4": 0.25, "1/10": 0.1, "1/100": 0.01}
"""Selectable speeds of playing."""

RUN_UP = 0.03
"""[s] before the impact from which it is shown when asked for."""

TRACE_SPAN = 2.0
"""[s] for which the way of the end-effector is drawn."""

_SAMPLE = 1e-3
"""[s] the shortest time that a frame stands for."""


class PlayClock:
    """Position of the player in a recording. Attributes: time [s], playing, speed (recorded to wall clock seconds)."""

    def __init__(self, start: float, end: float) -> None:
        """Stand at the start, playing. start, end: of the recording [s]."""
        self._start, self._end = start, end
        self.time = start
        self.playing = True
        self.speed = 1.0

    def advance(self, elapsed: float) -> None:
        """Let `elapsed` [s] of the wall clock pass; the playing pauses at the end."""
        if self.playing:
            self.seek(self.time + self.speed * elapsed)
            self.playing = self.time < self._end

    def seek(self, time: float) -> None:
        """Go to a time [s], or to the end of the recording that is nearer."""
        self.time = min(max(time, self._start), self._end)

    def toggle(self) -> None:
        """Pause, or go on; from the start after the end."""
        if not self.playing and self.time >= self._end:
            self.time = self._start
        self.playing = not self.playing


class Player:
    """The controls of a recording on its page, and what they show."""

    def __init__(self, server: Any, stage: Stage, record: Record) -> None:
        """Put the controls above the panel; the page stands at the start of the recording."""
        self._record = record
        self._joints = {name: len(arm.rest) for name, arm in stage.arms.items()}
        self.clock = PlayClock(record.start, record.end)
        gui = server.gui
        self._slider = gui.add_slider(
            "Time [s]", min=0.0, max=max(record.end - record.start, _SAMPLE), step=_SAMPLE, initial_value=0.0
        )
        self._button = gui.add_button("Pause")
        self._speed = gui.add_dropdown("Speed", tuple(SPEEDS))
        self._impact = gui.add_button("Show the impact", disabled=not record.impacts)
        self._slider.on_update(self._on_slider)
        self._button.on_click(lambda event: self.clock.toggle())
        self._speed.on_update(lambda event: self._set_speed())
        self._impact.on_click(lambda event: self._to_impact())
        self._drawing = Drawing(server, stage)
        self._frames = 0
        self._shown, self._stood_for = math.nan, 0

    def step(self, elapsed: float) -> None:
        """Show the next frame; elapsed [s] of the wall clock since the one before."""
        clock, record = self.clock, self._record
        clock.advance(elapsed)
        self._stood_for = self._stood_for + 1 if clock.time == self._shown else 0
        self._shown = clock.time
        if self._stood_for > PLOTS_EVERY:  # everything is shown, and the browser may rest
            return
        before = clock.time - max(_SAMPLE, clock.speed * elapsed if clock.playing else 0.0)
        frame = frame_of(record.arms, record.objects, clock.time, before)
        self._drawing.show(frame)
        if self._frames % PANEL_EVERY == 0:
            self._drawing.tell(frame)
            self._button.label = "Pause" if clock.playing else "Play"
            self._slider.value = round(clock.time - record.start, 3)
        if self._frames % PLOTS_EVERY == 0:
            self._drawing.trace(record.arms, clock.time - TRACE_SPAN, clock.time)
            self._drawing.plot(
                {name: courses_of(signals, clock.time, self._joints[name]) for name, signals in record.arms.items()}
            )
        self._frames += 1

    def _on_slider(self, event: Any) -> None:
        if event.client is not None:  # by hand, and not by `step`
            self.clock.seek(self._record.start + float(self._slider.value))

    def _set_speed(self) -> None:
        self.clock.speed = SPEEDS[self._speed.value]

    def _to_impact(self) -> None:
        self._speed.value = "1/100"
        self._set_speed()
        self.clock.seek(self._record.impacts[0] - RUN_UP)
        self.clock.playing = True


def play(server: Any, stage: Stage, record: Record, stop_requested: Callable[[], bool]) -> None:
    """Play a recording until a stop is requested."""
    player = Player(server, stage, record)
    last = time.monotonic()
    while not stop_requested():
        now = time.monotonic()
        player.step(now - last)
        last = now
        time.sleep(max(0.0, FRAME_PERIOD - (time.monotonic() - now)))


def page(port: int, host: str) -> str:
    """Return what to open in the browser. Raises ViewError, MissingDependencyError when there can be no page."""
    require_viewable(port, host)
    return address(port, host)


def play_bag(bag: Path, port: int, host: str, tell: Callable[[str], None]) -> None:
    """Play a bag of this stack until Enter, Ctrl-C or SIGTERM; see `record_of_bag`. tell: prints the address."""
    _play(*record_of_bag(bag), port, host, tell)


def play_replay(runs: Mapping[str, ReplayedRun], port: int, host: str, tell: Callable[[str], None]) -> None:
    """Play what was replayed until Enter, Ctrl-C or SIGTERM; see `record_of_replay`. tell: prints the address."""
    _play(*record_of_replay(runs), port, host, tell)


def _play(stage: Stage, record: Record, port: int, host: str, tell: Callable[[str], None]) -> None:
    server = open_server(port, host)
    tell(f"To look at again: {address(port, host)} (reload the page); Enter or Ctrl-C ends.")
    with stoppable() as stop:
        play(server, stage, record, lambda: stop() or _enter_pressed())
    close_server(server)


def _enter_pressed() -> bool:
    """Return whether a line waits on standard input, False without a terminal."""
    return sys.stdin.isatty() and bool(select.select([sys.stdin], [], [], 0.0)[0])
