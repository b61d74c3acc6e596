"""Defects of recorded joint samples: gaps, stamps, numbers, order of the joints.

A recording is not repaired: samples that cannot be used are marked, with the reason, and what remains is what arrived.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from impact_control.observation import POSITION_TOLERANCE
from impact_control.util.checks import require_positive
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector
from impact_control.util.words import counted

GAP_FACTOR = 1.5
"""Periods between two stamps from which on samples are missing: half-way between one and two."""

RETURN_TIME = 0.25
"""[s] for which samples have to agree with each other to be used, although they are out of reach of those before."""

NEW_BEGINNING = 0.06
"""[s] left out there: above the gap of 0.05 s after which a momentum observer restarts."""

_NAMED = 3
"""Times listed in the description of a defect."""


class DefectKind(Enum):
    """Kind of defect, in words with {count} samples."""

    GAP = "{count} gaps in the stamps"
    DUPLICATED = "{count} samples with the stamp of one before"
    REPEATED = "{count} samples equal to the one before although a joint moves: lost ones"
    REORDERED = "{count} samples with stamps out of order"
    NOT_FINITE = "{count} samples with a number or stamp that is not finite"
    IMPOSSIBLE = "{count} samples with a torque that no joint gives"
    OTHER_ORDER = "{count} samples with the joints in another order, sorted by name"
    OTHER_JOINTS = "{count} samples without all joints"
    SWAPPED = "{count} samples with joints that trade places under their names, left out"
    JUMPED = "{count} samples out of reach of the one before, left out"
    ELSEWHERE = (
        "{count} places where the record goes on out of reach of what was before: a gap, or a clock that was set"
    )


@dataclass(frozen=True, eq=False)
class Defect:
    """Samples with the same fault: rows (k,) in the order of arrival, their stamps time (k,) [s], detail in words."""

    kind: DefectKind
    rows: NDArray[np.int64]
    time: Vector
    detail: str = ""

    def in_words(self) -> str:
        """Return kind, number and times in words."""
        shown = ", ".join(f"{time:.4f}" for time in self.time[:_NAMED])
        more = f" and {len(self.time) - _NAMED} more" if len(self.time) > _NAMED else ""
        words = f"{self.kind.value.format(count=len(self.rows))}, at {shown}{more} s"
        return f"{words}; {self.detail}" if self.detail else words


@dataclass(frozen=True, eq=False)
class CheckedSamples:
    """Joint samples in the order of arrival, joints in the order asked for, and what is wrong with them.

    names (n,) joints; time (m,) [s]; position, velocity, torque (m, n) [rad, rad/s, Nm], NaN for a joint that is
    missing. usable (m,): whether a sample is whole, in order and in reach of the one before; defects: what is wrong.
    """

    names: tuple[str, ...]
    time: Vector
    position: Matrix
    velocity: Matrix
    torque: Matrix
    usable: NDArray[np.bool_]
    defects: tuple[Defect, ...]

    def in_words(self) -> list[str]:
        """Return one line per defect; none when nothing is wrong."""
        return [defect.in_words() for defect in self.defects]

    def count(self, kind: DefectKind) -> int:
        """Return the number of samples, or gaps, of a kind."""
        return sum(len(defect.rows) for defect in self.defects if defect.kind is kind)


def check_samples(
    time: Vector,
    names: Sequence[str] | Sequence[Sequence[str]],
    position: Sequence[Sequence[float]] | Matrix,
    velocity: Sequence[Sequence[float]] | Matrix,
    torque: Sequence[Sequence[float]] | Matrix,
    *,
    joints: Sequence[str],
    period: float,
    strongest: Vector | None = None,
) -> CheckedSamples:
    """Check recorded joint samples and arrange them.

    A sample is used when it has all joints, only finite numbers, torques that can be, a stamp in order, numbers of its
    own, and positions that can be reached. What stands in for a lost sample, the last one with a new stamp, is no
    sample: no two have the same noise in all joints, and after some of them the arm would seem to have jumped.

    Order: of all selections of samples with rising stamps the longest is used, so that one stamp far in the future
    costs itself and not the rest of the record.

    Reach: the change since the sample before has to be that of the mean velocity, within POSITION_TOLERANCE; else the
    record is cut there. The part behind the cut is used if it begins where the joints could have gone since the part
    before. If it does so with the joints in another order, it is left out until they are back in theirs; an order that
    was wrong from the start is not found. Any other part is a wrong value if it is shorter than RETURN_TIME, else a new
    beginning, as after the clock was set: NEW_BEGINNING is left out there, a gap for whatever follows.

    Args:
        time: (m,) [s] stamps in the order of arrival.
        names: (n,) of the columns, or for each sample its own, as in sensor_msgs/JointState.
        position, velocity, torque: (m, n) [rad, rad/s, Nm], or rows of their own length.
        joints: names of the returned columns, in order.
        period: [s] between samples, above 0.
        strongest: (n,) [Nm] of the returned columns, beyond which a torque is none; None: not looked at.

    Raises:
        InvalidInputError: no samples, other numbers of rows, a period that is not above 0, or joints named twice.
    """
    stamps = np.asarray(time, dtype=float)
    ordered = tuple(joints)
    require_positive("period", period)
    if not ordered or len(set(ordered)) != len(ordered):
        raise InvalidInputError("joints", ordered, "one name or more, each once")
    same = tuple(name for name in names if isinstance(name, str))
    rows: list[Sequence[str]] = [same] * stamps.size if same else list(names)
    sizes = {len(rows), len(position), len(velocity), len(torque)}
    if stamps.ndim != 1 or not stamps.size or sizes != {stamps.size}:
        raise InvalidInputError("rows of names, position, velocity, torque", sorted(sizes), f"{stamps.size} each")
    arranged, moved, missing = _arrange(rows, (position, velocity, torque), ordered)
    finite = np.isfinite(stamps) & np.all(np.isfinite(arranged), axis=(0, 2))
    whole = finite & ~missing
    defects = []

    def note(kind: DefectKind, found: NDArray[np.bool_], detail: str = "") -> None:
        index = np.flatnonzero(found)
        if index.size:
            defects.append(Defect(kind, index, stamps[index], detail))

    note(DefectKind.OTHER_JOINTS, missing, f"expected are {', '.join(ordered)}")
    note(DefectKind.OTHER_ORDER, moved & ~missing)
    note(DefectKind.NOT_FINITE, ~finite & ~missing)
    if strongest is not None:
        impossible = whole & np.any(np.abs(arranged[2]) > strongest, axis=1)
        note(DefectKind.IMPOSSIBLE, impossible)
        whole &= ~impossible
    again = _seen_before(stamps, np.isfinite(stamps))
    candidates = np.flatnonzero(whole & ~again)
    older = np.zeros(stamps.size, dtype=bool)
    older[np.delete(candidates, _longest_rise(stamps[candidates]))] = True
    note(DefectKind.DUPLICATED, again)
    note(DefectKind.REORDERED, older)
    usable = whole & ~again & ~older
    stale = repeated_rows(arranged, usable)
    note(DefectKind.REPEATED, stale)
    usable &= ~stale
    reach = _in_reach(stamps, arranged[0], arranged[1], usable)
    for order, found in reach.swapped.items():
        moved_joints = (f"{ordered[k]} holds {ordered[j]}" for j, k in enumerate(order) if j != k)
        note(DefectKind.SWAPPED, found, ", ".join(moved_joints))
    note(DefectKind.JUMPED, reach.jumped)
    note(DefectKind.ELSEWHERE, reach.elsewhere)
    usable = reach.kept
    _note_gaps(stamps, usable, period, defects)
    return CheckedSamples(ordered, stamps, arranged[0], arranged[1], arranged[2], usable, tuple(defects))


def _arrange(
    names: Sequence[Sequence[str]], columns: Sequence[Sequence[Sequence[float]] | Matrix], ordered: tuple[str, ...]
) -> tuple[Matrix, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the columns (3, m, n) in order of the joints, and masks (m,) of rows in another order, or incomplete."""
    arranged = np.full((len(columns), len(names), len(ordered)), np.nan)
    moved, missing = np.zeros(len(names), dtype=bool), np.zeros(len(names), dtype=bool)
    alike: dict[tuple[str, ...], list[int]] = {}
    for row, given in enumerate(names):
        alike.setdefault(tuple(given), []).append(row)
    for given, rows in alike.items():
        fits = set(ordered) <= set(given) and len(set(given)) == len(given)
        whole = [row for row in rows if fits and all(len(column[row]) == len(given) for column in columns)]
        missing[list(set(rows) - set(whole))] = True
        if whole:
            order = [given.index(name) for name in ordered]
            moved[whole] = order != sorted(order)
            for into, column in zip(arranged, columns, strict=True):
                into[whole] = np.array([column[row] for row in whole], dtype=float)[:, order]
    return arranged, moved, missing


def _seen_before(stamps: Vector, finite: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether a finite stamp (m,) is that of a row before."""
    _, first = np.unique(stamps, return_index=True)
    seen = finite.copy()
    seen[first] = False
    return seen


def repeated_rows(arranged: NDArray[np.float64], usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which usable rows of columns (k, m, n), of position, velocity and more, repeat the usable one before.

    Those at rest count as new.
    """
    rows = np.flatnonzero(usable)
    same = np.all(arranged[:, rows[1:]] == arranged[:, rows[:-1]], axis=(0, 2)) & arranged[1, rows[1:]].any(axis=1)
    stale = np.zeros(usable.size, dtype=bool)
    stale[rows[1:][same]] = True
    return stale


def _longest_rise(values: Vector) -> list[int]:
    """Return the numbers of the longest selection of values that rises strictly."""
    ends: list[float] = []  # smallest last value of a rise of each length
    rows: list[int] = []
    before = np.full(values.size, -1)
    for k, value in enumerate(values.tolist()):
        place = bisect_left(ends, value)
        ends[place : place + 1] = [value]
        rows[place : place + 1] = [k]
        before[k] = rows[place - 1] if place else -1
    chosen, k = [], rows[-1] if rows else -1
    while k >= 0:
        chosen.append(k)
        k = int(before[k])
    return chosen[::-1]


class _Reach(NamedTuple):
    """Masks (m,) of samples: kept to use, jumped, swapped by the column of each joint, and begin of parts elsewhere."""

    kept: NDArray[np.bool_]
    jumped: NDArray[np.bool_]
    elsewhere: NDArray[np.bool_]
    swapped: dict[tuple[int, ...], NDArray[np.bool_]]


def _in_reach(time: Vector, position: Matrix, velocity: Matrix, usable: NDArray[np.bool_]) -> _Reach:
    """Cut the usable samples (m,) where position and velocity contradict each other, and say which parts are left."""
    kept, jumped, elsewhere = np.zeros((3, time.size), dtype=bool)
    swapped: dict[tuple[int, ...], NDArray[np.bool_]] = {}
    rows = np.flatnonzero(usable)
    if not rows.size:
        return _Reach(kept, jumped, elsewhere, swapped)
    t, q, dq = time[rows], position[rows], velocity[rows]
    expected = 0.5 * np.diff(t)[:, None] * (dq[1:] + dq[:-1])
    slack = POSITION_TOLERANCE + 0.5 * np.diff(t)[:, None] * np.abs(np.diff(dq, axis=0))
    cuts = 1 + np.flatnonzero(np.any(np.abs(np.diff(q, axis=0) - expected) > slack, axis=1))
    fastest = 1.5 * np.max(np.abs(dq), axis=0) + POSITION_TOLERANCE / RETURN_TIME
    order = named = tuple(range(q.shape[1]))
    last = -1  # sample of the parts before that are in a known order
    for begin, end in zip([0, *cuts.tolist()], [*cuts.tolist(), rows.size], strict=True):
        before, since = q[last, list(order)], t[begin] - t[last]
        found = named if last < 0 else _order_behind(before, order, q[begin], fastest * since + POSITION_TOLERANCE)
        first = begin
        if found is None and t[end - 1] - t[begin] >= RETURN_TIME:
            # Its stamps do not say how long it is since; the order is that of before unless only another one fits.
            distance = fastest * max(since, RETURN_TIME) + POSITION_TOLERANCE
            found = _order_behind(before, order, q[begin], distance) or named
            elsewhere[rows[begin]] = True
            first = int(np.searchsorted(t, t[begin] + NEW_BEGINNING))
        if found is None:
            jumped[rows[begin:end]] = True
            continue
        mask = kept if found == named else swapped.setdefault(found, np.zeros(time.size, dtype=bool))
        mask[rows[first:end]] = True
        order, last = found, end - 1
    return _Reach(kept, jumped, elsewhere, swapped)


def _order_behind(joints: Vector, order: tuple[int, ...], columns: Vector, distance: Vector) -> tuple[int, ...] | None:
    """Return the column of each joint (n,) in a sample, None where it is out of reach of the joints before.

    joints (n,) [rad] before, in the columns of `order`; distance (n,) [rad] that each can have gone. The order is that
    of before where that is possible, else that of the names, else the one that moves the fewest columns.
    """
    named = tuple(range(joints.size))
    for likely in (order, named):
        if np.all(np.abs(columns[list(likely)] - joints) <= distance):
            return likely
    ratio = np.abs(columns - joints[:, None]) / distance[:, None]
    possible = ratio <= 1.0
    moves = np.arange(joints.size) != np.array(order)[:, None]
    rows, found = linear_sum_assignment(np.where(possible, ratio + joints.size * moves, 1e6))
    return tuple(found.tolist()) if possible[rows, found].all() else None


def _note_gaps(time: Vector, usable: NDArray[np.bool_], period: float, defects: list[Defect]) -> None:
    """Add the gaps between the stamps of usable samples."""
    rows = np.flatnonzero(usable)
    length = np.diff(time[rows])
    gaps = np.flatnonzero(length > GAP_FACTOR * period)
    if gaps.size:
        lost = int(np.sum(np.rint(length[gaps] / period) - 1))
        longest = gaps[np.argmax(length[gaps])]
        most, start = length[longest], time[rows[longest]]
        words = f"{counted(lost, 'sample')} missing, the longest gap {most:.4f} s after {start:.4f} s"
        defects.append(Defect(DefectKind.GAP, rows[gaps + 1], time[rows[gaps]], words))
