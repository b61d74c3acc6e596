"""First half of the tick: the terms of the dynamics, the momentum residual, and the impacts that show in it."""

from __future__ import annotations

import numpy as np

from impact_control.detection import DetectionSignals, Detector
from impact_control.pipeline.parts import make_detector, make_observer
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import Scenario
from impact_control.util.types import Vector


class Sensing:
    """Dynamics, observer and detector of one arm. Attributes: dynamics, observer, detector."""

    def __init__(self, scenario: Scenario, robot: RobotDescription, detector: Detector | None = None) -> None:
        """detector: in place of the scenario's."""
        n = len(robot.joint_names)
        self.dynamics = Dynamics(robot)
        self.observer = make_observer(scenario, robot)
        self.detector = make_detector(scenario, n) if detector is None else detector
        self._signals = DetectionSignals(n)
        self._signals.residual = self.observer.residual

    def reset(self) -> None:
        """Forget all samples."""
        self.observer.reset()
        self.detector.reset()

    def observe(self, time: float, position: Vector, velocity: Vector, torque: Vector) -> None:
        """Take one sample, see `Pipeline.tick`: dynamics and observer are those of it afterwards."""
        signals, dynamics = self._signals, self.dynamics
        signals.position, signals.velocity, signals.joint_torque = position, velocity, torque
        dynamics.compute(position, velocity)
        dynamics.compute_momentum_terms()
        self.observer.observe(
            dynamics.mass_matrix, velocity, torque, dynamics.coriolis_transposed_velocity, dynamics.gravity, time
        )

    def detect(self, time: float, commanded: Vector, residual_rate: Vector) -> bool:
        """Return whether an impact shows in the sample that was observed last.

        commanded (n,) [Nm], without gravity: torque that was commanded for it. residual_rate (n,) [Nm/s]: that of the
        observer, or the same as if its change over lost samples had come with this one.
        """
        signals = self._signals
        signals.residual_rate = residual_rate
        np.add(commanded, self.dynamics.gravity, out=signals.commanded_torque)
        return self.detector.detect(signals, time)
