"""First half of the tick: the terms of the dynamics, the momentum residual, and the impacts that show in it."""

from __future__ import annotations

import numpy as np

from impact_control import detection
from impact_control.detection import DetectionSignals, Detector
from impact_control.observation import MomentumObserver
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import Scenario
from impact_control.util.types import Vector


def make_observer(scenario: Scenario, robot: RobotDescription) -> MomentumObserver:
    """Return the scenario's momentum observer for flexible joints; it restarts after a gap that stops a task."""
    transmission, control = robot.transmission, scenario.control
    longest = control.state_timeout + 0.5 * control.period
    coupling = transmission.damping / transmission.stiffness
    return MomentumObserver(scenario.detection.observer_gain, coupling, longest, control.period)


def make_detector(scenario: Scenario, size: int) -> Detector:
    """Return the scenario's detector for an arm of `size` joints, several in one if it uses several."""
    return detection.make_detector(scenario.detection, size, scenario.control.period)


class Sensing:
    """Dynamics, observer and detector of one arm. Attributes: dynamics, observer, detector."""

    def __init__(self, scenario: Scenario, robot: RobotDescription, detector: Detector | None = None) -> None:
        """detector: in place of the scenario's."""
        n = len(robot.joint_names)
        self.dynamics = Dynamics(robot)
        self.observer = make_observer(scenario, robot)
        self.detector = make_detector(scenario, n) if detector is None else detector
        self._needs_commands = detector is not None or scenario.detection.needs_commands
        self._signals = DetectionSignals(n)
        self._signals.residual = self.observer.residual
        still = np.zeros(n)
        self.observe(0.0, still, still, still)  # compiles the kernels here and not in the loop
        self.reset()

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
        if self._needs_commands:
            np.add(commanded, self.dynamics.gravity, out=signals.commanded_torque)
        return self.detector.detect(signals, time)
