"""Faults of a running graph, drawn at random: what is done, and what may be said of it afterwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TASK_TIME = (0.2, 2.4)
"""[s] of the task between which a fault begins: approach, impact and contact of the tabletop scenarios."""

NODES = ("simulator", "impact_loop", "predictor", "recorder", "supervisor")
JUMP_COUNT = 100
"""Samples whose stamps are wrong by the size of a jump."""

STATES, COMMANDS = "states", "commands"
"""Lines to and from the robot side."""

_STALE = ("STATE_STALE", "SUPERVISOR_STOP", "SUPERVISOR_LOST", "no command for", "no joint state for")
_STOPPED = (*_STALE, "behind the joint states")
_NOTICED = ("unexpected", "no impact")
"""What a task may end with that went on under a disturbance: it is judged as any other."""
_CLOCK = ("STATE_STALE", "SUPERVISOR_STOP", *_NOTICED)


@dataclass(frozen=True)
class FaultKind:
    """A fault of the table in docs/safety.md.

    targets: nodes or lines it can happen to. size: from and to, drawn evenly on a logarithmic scale, in `unit`; (0, 0):
    it has none. reasons: one of them has to be said where the task did not end as without the fault; {target} is that
    of the fault; none: the task has to go on. certain: one of them has to be said in any case.
    """

    name: str
    targets: tuple[str, ...]
    size: tuple[float, float] = (0.0, 0.0)
    unit: str = ""
    reasons: tuple[str, ...] = ()
    certain: bool = False


FAULTS = (
    FaultKind("kill", NODES, reasons=("node '{target}' was killed by SIGKILL",), certain=True),
    FaultKind("stop", ("simulator", "impact_loop"), (0.005, 2.0), "s", (*_STOPPED, *_NOTICED)),
    FaultKind("stop", ("predictor", "recorder"), (0.005, 2.0), "s"),
    FaultKind("stop", ("supervisor",), (0.005, 2.0), "s", ("SUPERVISOR_LOST",)),
    FaultKind("drop", (STATES, COMMANDS), (1, 500), "messages", (*_STALE, *_NOTICED)),
    FaultKind("delay", (STATES, COMMANDS), (1, 500), "messages", (*_STOPPED, *_NOTICED, "OUT_OF_LIMITS")),
    FaultKind("duplicate", (STATES, COMMANDS), (1, 500), "messages", _NOTICED),
    FaultKind("reorder", (STATES, COMMANDS), (2, 500), "messages", (*_STALE, *_NOTICED)),
    FaultKind("not a number", (STATES,), (1, 500), "messages", ("STATE_NOT_FINITE", *_STALE), certain=True),
    FaultKind("not a number", (COMMANDS,), (1, 500), "messages", _NOTICED),
    FaultKind("clock forward", (STATES,), (0.002, 10.0), "s", _CLOCK),
    FaultKind("clock back", (STATES,), (0.002, 10.0), "s", _CLOCK),
    FaultKind("disk full", ("recorder",), (1e3, 1e6), "bytes", ("was cut off",), certain=True),
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
            case "clock forward":
                happens = f"jump {JUMP_COUNT} {self.size}"
            case "clock back":
                happens = f"jump {JUMP_COUNT} {-self.size}"
            case "delay":
                happens = f"delay {count} {max(1, count // 5)}"
            case "reorder":
                happens = f"reorder {count} 7"
            case name:
                happens = f"{name} {count} 1"
        return f"{self.target} {happens}"

    def explains(self, said: str) -> bool:
        """Whether what was said of the end of a task names what this fault may lead to."""
        return any(reason.format(target=self.target) in said for reason in self.kind.reasons)


def draw_fault(random: np.random.Generator) -> Fault:
    """Draw a fault: each kind, and each of its targets, as often as the others."""
    kind = FAULTS[random.integers(len(FAULTS))]
    target = kind.targets[random.integers(len(kind.targets))]
    low, high = kind.size
    size = float(np.exp(random.uniform(np.log(low), np.log(high)))) if high > 0.0 else 0.0
    return Fault(kind, target, float(random.uniform(*TASK_TIME)), size)
