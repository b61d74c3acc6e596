"""One measured figure of the benchmark, with its target and with what others need for the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from impact_control.util.errors import ImpactControlError

Pass = Callable[[], Sequence[float]]
"""One pass of a measurement: does the work some times and returns how long each took [s]."""

MEDIAN, HIGH, HIGHEST = "median", "99 %", "99.9 %"
"""Names of the values of a duration."""


class PeerFailedError(ImpactControlError):
    """A peer could not be measured; what it says is why."""


@dataclass(frozen=True)
class Peer:
    """The same work by another, measured in the same run.

    values: like those of the figure. ratio: ours to it, above 1 where ours takes longer; None where it was not
    measured, and then `missing` says why.
    """

    name: str
    values: Mapping[str, float] = field(default_factory=dict)
    ratio: float | None = None
    missing: str = ""


@dataclass(frozen=True)
class Figure:
    """One measured figure.

    values: by name, in `unit`; limits: what some of them must not exceed; peers: what it is compared with.
    """

    name: str
    values: Mapping[str, float]
    unit: str = "us"
    limits: Mapping[str, float] = field(default_factory=dict)
    peers: tuple[Peer, ...] = ()

    @property
    def target(self) -> str:
        """Limits in words, empty without."""
        return f"at most {', '.join(f'{limit:g} {key}' for key, limit in self.limits.items())}" if self.limits else ""

    @property
    def met(self) -> bool | None:
        """True where all limits are kept, which NaN does not; None without any."""
        if not self.limits:
            return None
        return all(self.values[key] <= limit for key, limit in self.limits.items())


def percentiles(durations: Sequence[float]) -> dict[str, float]:
    """Return median, 99 % and 99.9 % [us] of durations [s]."""
    return dict(zip((MEDIAN, HIGH, HIGHEST), (np.percentile(durations, [50, 99, 99.9]) * 1e6).tolist(), strict=True))


def figure_of(
    name: str,
    durations: Sequence[float],
    target: float | None = None,
    tail_target: float | None = None,
    peers: tuple[Peer, ...] = (),
) -> Figure:
    """Summarise durations [s]; target, tail_target [s]: what median and 99.9 % must not exceed."""
    limits = {key: 1e6 * limit for key, limit in ((MEDIAN, target), (HIGHEST, tail_target)) if limit is not None}
    return Figure(name, percentiles(durations), limits=limits, peers=peers)


def figure_beside(
    name: str,
    ours: Pass,
    peers: Mapping[str, Pass | str],
    rounds: int,
    target: float | None = None,
    tail_target: float | None = None,
) -> Figure:
    """Measure ours and its peers in turns, one pass of each a round, so that a slower machine meets all of them.

    peers: by name; a text instead of a pass says why there is none, and one whose pass raises PeerFailedError is
    missing, too. The ratio to a peer is the median of those of the medians in each round. target, tail_target [s]: see
    `figure_of`.
    """
    present = {peer: one for peer, one in peers.items() if not isinstance(one, str)}
    missing = {peer: reason for peer, reason in peers.items() if isinstance(reason, str)}
    passes: dict[str, list[Sequence[float]]] = {"": [], **{peer: [] for peer in present}}
    for _ in range(rounds):
        passes[""].append(ours())
        for peer in [peer for peer in present if peer not in missing]:
            try:
                passes[peer].append(present[peer]())
            except PeerFailedError as error:
                missing[peer] = str(error)

    def beside(peer: str) -> Peer:
        if peer in missing:
            return Peer(peer, missing=missing[peer])
        pairs = zip(passes[""], passes[peer], strict=True)
        ratio = float(np.median([np.median(our) / np.median(its) for our, its in pairs]))
        return Peer(peer, percentiles(np.concatenate(passes[peer]).tolist()), ratio)

    durations = np.concatenate(passes[""]).tolist()
    return figure_of(name, durations, target, tail_target, tuple(beside(peer) for peer in peers))


def timed(act: Callable[[], object], count: int) -> Pass:
    """Return a pass of `count` calls of `act`. One call goes ahead now, so that nothing is compiled in the others."""
    act()

    def one_pass() -> list[float]:
        durations = []
        for _ in range(count):
            start = time.perf_counter()
            act()
            durations.append(time.perf_counter() - start)
        return durations

    return one_pass
