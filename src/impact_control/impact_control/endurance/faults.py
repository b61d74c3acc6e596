"""Faults of a running graph, drawn at random: what is done, and what may be said of it afterwards."""

from __future__ import annotations

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
    said, or to stand in a log, in any case.
    """

    name: str
    targets: tuple[str, ...]
    size: tuple[float, float] = (0.0, 0.0)
    unit: str = ""
    reasons: tuple[str, ...] = ()
    disturbs: bool = False
    ends_session: bool = False
    trace: str = ""


_STALE = ("STATE_STALE", "SUPERVISOR_STOP", "no command for", "no joint state for")
_KILLED = "node '{target}' was killed by SIGKILL"
_DURATION = (0.005, 2.0)
_COUNT = (1, 500)
_JUMP = (0.002, 10.0)

FAULTS = (
    FaultKind("kill", NODES, reasons=(_KILLED,), ends_session=True, trace=_KILLED),
    FaultKind("stop", ("simulator",), _DURATION, "s", _STALE, disturbs=True),
    FaultKind(
        "stop",
        ("impact_loop",),
        _DURATION,
        "s",
        (*_STALE, "SUPERVISOR_LOST", "behind the joint states"),
        disturbs=True,
        ends_session=True,
    ),
    FaultKind("stop", ("predictor", "recorder"), _DURATION, "s"),
    FaultKind("stop", ("supervisor",), _DURATION, "s", ("SUPERVISOR_LOST",)),
    FaultKind("drop", (STATES, COMMANDS), _COUNT, "messages", _STALE, disturbs=True),
    FaultKind(
        "delay",
        (STATES, COMMANDS),
        _COUNT,
        "messages",
        (*_STALE, "behind the joint states", "OUT_OF_LIMITS"),
        disturbs=True,
    ),
    FaultKind("duplicate", (STATES, COMMANDS), _COUNT, "messages"),
    FaultKind("reorder", (STATES, COMMANDS), (2, 500), "messages", _STALE, disturbs=True),
    FaultKind("not a number", (STATES,), _COUNT, "messages", ("STATE_NOT_FINITE",), trace="STATE_NOT_FINITE"),
    # Two at least: the robot side takes the newest of those that come in one period, and may never see one alone.
    FaultKind("not a number", (COMMANDS,), (2, 500), "messages", disturbs=True, trace="command refused"),
    FaultKind("clock forward", (STATES,), _JUMP, "s", ("STATE_STALE",), disturbs=True),
    FaultKind("clock back", (STATES,), _JUMP, "s", ("STATE_STALE",), disturbs=True),
    FaultKind("clock set forward", (STATES,), _JUMP, "s", ("STATE_STALE",), disturbs=True),
    FaultKind("clock set back", (STATES,), _JUMP, "s", ("STATE_STALE",), disturbs=True),
    FaultKind("disk full", ("recorder",), (1e3, 1e6), "bytes", ("was cut off",), trace="was cut off"),
)


@dataclass(frozen=True)
class Fault:
    """One fault: `kind` happens to `target` at task time `at` [s], with `size` in the unit of its kind."""

    kind: FaultKind
    target: str
    at: float
    size: float

    def __str__(self) -> str:
        """Say it in a few words."""
        number = f"{self.size:.3g}" if self.kind.unit == "s" else f"{self.size:.0f}"
        size = f", {number} {self.kind.unit}" if self.kind.unit else ""
        return f"{self.kind.name} {self.target}{size}, at {self.at:.2f} s"

    @property
    def disturbance(self) -> str:
        """What the robot side is told to do to a line: line, what happens, to how many messages, and its size.

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
        """Whether what was said names something that this fault may lead to."""
        return any(reason.format(target=self.target) in said for reason in self.kind.reasons)

    @property
    def trace(self) -> str:
        """What has to be said or logged of it, "" where it may pass unnoticed."""
        return self.kind.trace.format(target=self.target)


def draw_fault(random: np.random.Generator) -> Fault:
    """Draw a fault: each entry of `FAULTS`, and each of its targets, as often as the others."""
    kind = FAULTS[random.integers(len(FAULTS))]
    target = kind.targets[random.integers(len(kind.targets))]
    low, high = kind.size
    size = float(np.exp(random.uniform(np.log(low), np.log(high)))) if high > 0.0 else 0.0
    return Fault(kind, target, float(random.uniform(*TASK_TIME)), size)
