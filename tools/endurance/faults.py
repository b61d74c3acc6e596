"""Faults of a running graph, drawn at random: their injection, and the messages that may report them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

TASK_TIME = (0.2, 2.4)
"""[s] of the task between which a fault begins: approach, impact and contact of the tabletop scenarios."""

NODES = ("simulator", "impact_loop", "predictor", "recorder", "supervisor")

JUMP_COUNT = 100
"""Samples whose stamps are wrong by the size of a jump."""

FOR_GOOD = 1_000_000
"""Samples, more than a task has: a clock that is set stays so until the lines are mended."""

STATES, COMMANDS = "states", "commands"
"""Lines to and from the robot side."""


@dataclass(frozen=True)
class FaultKind:
    """A fault of the table in docs/safety.md.

    targets: nodes or lines it can happen to. size: from and to, drawn evenly on a logarithmic scale, in `unit`; (0, 0):
    it has none. reasons: one of them has to be in what is said of a task that ended in FAULT, of a robot that was
    stopped, of a node that died or a recording that was cut off; {target} is that of the fault. disturbs: the task may
    go on and be judged otherwise than without it. ends_session: all may have to be started again. trace: has to be
    said, or to stand in a log, in any case; of several, one of them. certain: from which size on, and after what time
    [s] of the task, that is asked for.
    """

    name: str
    targets: tuple[str, ...]
    size: tuple[float, float] = (0.0, 0.0)
    unit: str = ""
    reasons: tuple[str, ...] = ()
    disturbs: bool = False
    ends_session: bool = False
    trace: tuple[str, ...] = ()
    certain: tuple[float, float] = (0.0, 0.0)


MARGIN = 0.015
"""[s] by which a gap that is named may be longer than what made it: two periods of the supervisor and a few samples."""

GAP = re.compile(r"(-?\d+\.\d) ms (?:between the stamps|without a joint state)|no (?:command|joint state) for (\d+) ms")
"""Messages of loop and supervisor on missing samples, or on a node that fell silent."""

_STALE = ("STATE_STALE", "SUPERVISOR_STOP", "no command for", "no joint state for")
_UNHEARD = ("no command for",)
_BEHIND = "behind the joint states"
_KILLED = "node '{target}' was killed by SIGKILL"
_DURATION = (0.005, 2.0)
_COUNT = (1, 500)
_JUMP = (0.002, 10.0)

_CLOCKS = tuple(
    FaultKind(
        name, (STATES,), _JUMP, "s", ("STATE_STALE",), disturbs=True, trace=("STATE_STALE",), certain=(0.03, 0.05)
    )
    for name in ("clock forward", "clock back", "clock set forward", "clock set back")
)

FAULTS = (
    FaultKind("kill", NODES, reasons=(_KILLED,), ends_session=True, trace=(_KILLED,)),
    FaultKind(
        "stop",
        ("simulator",),
        _DURATION,
        "s",
        _STALE,
        disturbs=True,
        trace=("no joint state for",),
        certain=(0.15, 0.15),
    ),
    FaultKind(
        "stop",
        ("impact_loop",),
        _DURATION,
        "s",
        (*_STALE, "SUPERVISOR_LOST", _BEHIND),
        disturbs=True,
        ends_session=True,
        trace=("no command for",),
        certain=(0.15, 0.15),
    ),
    FaultKind("stop", ("predictor", "recorder"), _DURATION, "s"),
    FaultKind(
        "stop", ("supervisor",), _DURATION, "s", ("SUPERVISOR_LOST",), trace=("SUPERVISOR_LOST",), certain=(0.7, 0.7)
    ),
    # What happens to commands on their way only the robot side can tell: the supervisor sees them before.
    FaultKind("drop", (STATES,), _COUNT, "messages", _STALE, disturbs=True, trace=_STALE, certain=(50.0, 0.15)),
    FaultKind("drop", (COMMANDS,), _COUNT, "messages", disturbs=True, trace=_UNHEARD, certain=(50.0, 0.15)),
    FaultKind("delay", (STATES,), _COUNT, "messages", (*_STALE, _BEHIND), disturbs=True),
    FaultKind("delay", (COMMANDS,), _COUNT, "messages", disturbs=True, trace=_UNHEARD, certain=(150.0, 0.15)),
    FaultKind("duplicate", (STATES, COMMANDS), _COUNT, "messages"),
    FaultKind("reorder", (STATES,), (2, 500), "messages", _STALE, disturbs=True),
    FaultKind("reorder", (COMMANDS,), (2, 500), "messages", disturbs=True),
    FaultKind("not a number", (STATES,), _COUNT, "messages", ("STATE_NOT_FINITE",), trace=("STATE_NOT_FINITE",)),
    # Two at least: the robot side takes the newest of those that come in one period, and may never see one alone.
    FaultKind("not a number", (COMMANDS,), (2, 500), "messages", disturbs=True, trace=("command refused",)),
    *_CLOCKS,
    FaultKind("disk full", ("recorder",), (1e3, 1e6), "bytes", ("was cut off",), trace=("was cut off",)),
)


@dataclass(frozen=True)
class Fault:
    """One fault: `kind` happens to `target` at task time `at` [s], with `size` in the unit of its kind."""

    kind: FaultKind
    target: str
    at: float
    size: float

    def __str__(self) -> str:
        """Describe it in a few words."""
        number = f"{self.size:.3g}" if self.kind.unit == "s" else f"{self.size:.0f}"
        size = f", {number} {self.kind.unit}" if self.kind.unit else ""
        return f"{self.kind.name} {self.target}{size}, at {self.at:.2f} s"

    @property
    def disturbance(self) -> str:
        """Order to the robot side: line, disturbance, number of messages, and its size.

        A delay goes up to a fifth of the messages it lasts for; of those out of order eight change places.
        """
        count = max(1, round(self.size))
        match self.kind.name:
            case "not a number":
                happens = f"nan {count} 0"
            case "clock forward" | "clock back" | "clock set forward" | "clock set back" as jump:
                shift = -self.size if jump.endswith("back") else self.size
                happens = f"jump {FOR_GOOD if ' set ' in jump else JUMP_COUNT} {shift}"
            case "delay":
                happens = f"delay {count} {max(1, count // 5)}"
            case "reorder":
                happens = f"reorder {count} 7"
            case name:
                happens = f"{name} {count} 1"
        return f"{self.target} {happens}"

    def explains(self, said: str) -> bool:
        """Check that a message names an effect of this fault, and no longer a gap than it makes."""
        named = any(reason.format(target=self.target) in said for reason in self.kind.reasons)
        return named and all(abs(gap) <= 1.1 * self.duration + MARGIN for gap in gaps_in(said))

    @property
    def duration(self) -> float:
        """Longest gap [s] that it makes; infinite where its size is none."""
        return {"s": self.size, "messages": 1e-3 * self.size}.get(self.kind.unit, math.inf)

    def shows_in(self, said: Iterable[str], duration: float) -> bool:
        """Check that the required message stands in one of the words; true where none is required.

        duration: of the task [s]; what happened too late in it may go unnoticed.
        """
        size, time = self.kind.certain
        if not self.kind.trace or self.size < size or (time > 0.0 and self.at + time > duration):
            return True
        traces = [trace.format(target=self.target) for trace in self.kind.trace]
        return any(trace in words for words in said for trace in traces)


def gaps_in(said: str) -> list[float]:
    """Return the times [s] without samples or signs of life that are named; negative where stamps went back."""
    return [1e-3 * float(stamps or silence) for stamps, silence in GAP.findall(said)]


def draw_fault(random: np.random.Generator) -> Fault:
    """Draw a fault: each entry of `FAULTS`, and each of its targets, as often as the others."""
    kind = FAULTS[random.integers(len(FAULTS))]
    target = kind.targets[random.integers(len(kind.targets))]
    low, high = kind.size
    size = float(np.exp(random.uniform(np.log(low), np.log(high)))) if high > 0.0 else 0.0
    return Fault(kind, target, float(random.uniform(*TASK_TIME)), size)
