"""Nominal time and configuration of the impact, and the deviation of a detected one from them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.scenario import Classification
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector


@dataclass(frozen=True, eq=False)
class NominalImpact:
    """The expected impact: t_1d [s] on the clock of the samples, q_ref(t_1d) (n,) [rad]. Raises InvalidInputError."""

    time: float
    configuration: Vector

    def __post_init__(self) -> None:
        if not math.isfinite(self.time):
            raise InvalidInputError("nominal_impact_time", self.time, "a finite time in s")
        configuration = np.array(self.configuration, dtype=np.float64)
        if configuration.ndim != 1 or not np.all(np.isfinite(configuration)):
            raise InvalidInputError("nominal_configuration", self.configuration, "finite joint positions in rad")
        configuration.setflags(write=False)
        object.__setattr__(self, "time", float(self.time))
        object.__setattr__(self, "configuration", configuration)

    def of_size(self, n: int) -> NominalImpact:
        """Return itself. Raises InvalidInputError unless it is for n joints."""
        if self.configuration.size != n:
            raise InvalidInputError("nominal_configuration", self.configuration, f"{n} joint positions in rad")
        return self

    def errors(self, time: float, configuration: Vector) -> tuple[float, float]:
        """Return t_j - t_1d [s] and ||q - q_ref(t_1d)|| [rad] of an impact, Proper 2021 (4.2), (4.7).

        time t_j [s]: the estimated begin of the contact. configuration q (n,) [rad]: of the sample that detected it,
        which comes a sample or a few later.
        """
        return time - self.time, math.dist(configuration, self.configuration)


def is_missing(nominal: NominalImpact | None, time: float, limits: Classification) -> bool:
    """Return whether the nominal time + zeta is over at `time` [s]; not without an expected impact."""
    return nominal is not None and time > nominal.time + limits.time_error


def is_expected(time_error: float, configuration_error: float, limits: Classification) -> bool:
    """Return whether an impact is inside zeta and epsilon, (4.2) and (4.8). Errors that are not numbers are not."""
    return abs(time_error) <= limits.time_error and configuration_error <= limits.configuration_error


def relative_error(time_error: float, configuration_error: float, limits: Classification) -> float:
    """Return the larger of both errors as a part of its limit, above 1 where the impact is not expected."""
    late = abs(time_error) / limits.time_error
    largest = max(late, configuration_error / limits.configuration_error)
    return largest if math.isfinite(late + configuration_error) else math.inf


def overdue(nominal: NominalImpact | None, time: float, limits: Classification) -> float:
    """Return the time [s] without an impact after the nominal one as a part of zeta; 0 before it."""
    if nominal is None or not time > nominal.time:
        return 0.0
    return (time - nominal.time) / limits.time_error


def waiting_reason(nominal: NominalImpact | None, missing: bool, limits: Classification) -> str:
    """Say that no impact came yet, or none while it was expected."""
    if nominal is None or not missing:
        return "no impact detected yet"
    return f"no impact detected until {limits.time_error:.4g} s after the nominal time of {nominal.time:.4g} s"


def impact_reason(verdict: str, time_error: float, configuration_error: float, limits: Classification) -> str:
    """Say how far an impact is from the expected one."""
    return (
        f"impact {verdict}: {time_error:+.4g} s from the nominal time (limit {limits.time_error:.4g} s), "
        f"{configuration_error:.4g} rad from the nominal configuration (limit {limits.configuration_error:.4g} rad)"
    )
