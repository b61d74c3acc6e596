"""Plants B and C: an arm that touches a rigid plane without friction, event by event.

Between events the motion is smooth and integrated with an error of fourth order; an event is located to rounding. A
contact that leaves opens; an impact is inelastic, at velocity level. Event-driven, because the velocities after an
impact then converge with the step as the smooth motion does, while a time-stepping scheme is of first order; and
because an impact comes out as one map with a time and impulses, to be laid beside the maps of `impacts`. Unlike the
bilateral constraint of Proper 2021 (2.59), (2.60), a contact force never pulls, and a point leaves when it would.

An edge that rocks from one end to the other would do so infinitely often in finite time. So a point that leaves the
surface slower than `rest_speed` after an impact stays on it: what is left of its normal velocity is taken out, which
only loses energy. A touch that begins and ends within one step is not seen; at an acceleration a its depth is at most
a h^2 / 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.robots import RobotDescription
from impact_control.simulation.chain_dynamics import chain_terms, serial_chain, update_chain
from impact_control.simulation.joint_kernel import holding_deflection, spring_torque
from impact_control.simulation.options import PlantOptions
from impact_control.simulation.scene_arrays import joint_records
from impact_control.util.checks import finite_array
from impact_control.util.errors import InvalidInputError, SimulationError
from impact_control.util.types import Matrix, Vector
from impact_studies.models.rigid_contact.arm_drive import (
    COMMAND,
    LINK_STATE,
    MOTOR_POSITION,
    MOTOR_VELOCITY,
    POSITION,
    STATE,
    VELOCITY,
    Joints,
)
from impact_studies.models.rigid_contact.contact import (
    ContactGeometry,
    ContactState,
    Flags,
    RigidSurface,
    contact_work,
    locate_contacts,
)
from impact_studies.models.rigid_contact.motion import JAMS, LEAVES, TOUCHES, TOUCHING, advance_smooth, strike
from impact_studies.models.rigid_contact.options import RigidContactOptions

MOST_EVENTS = 2000
"""Events in one sample after which the simulation gives up."""

_LARGEST_STEP_FLEXIBLE = 50e-6
"""Integration step [s], as in plant A: a fifth of the torque loop's period."""

_LARGEST_STEP_RIGID = 1e-3
"""Integration step [s]; halving it changes the velocities after an impact by less than 1e-6 of the jump."""


@dataclass(frozen=True, eq=False)
class Impact:
    """One impact.

    time [s]. impulse (n_c, 3) [Ns]: on the robot at each contact point, world frame A. velocity_before,
    velocity_after (n,) [rad/s]: of the links. energy_change [J], at most 0 but for rounding.
    """

    time: float
    impulse: Matrix
    velocity_before: Vector
    velocity_after: Vector
    energy_change: float


class RigidContactPlant:
    """An arm sampled like a Franka that touches a rigid plane; base of the plants B and C.

    State: `link_position`, `link_velocity` (n,) [rad, rad/s]. Ground truth: `normal_forces`, `gaps` (n_c,) [N, m], at
    the end of the period, without the impulses; these are in `impacts`. `first_contact_time` [s] (NaN before it),
    `time` [s].
    """

    def __init__(
        self,
        robot: RobotDescription,
        configuration: Vector,
        surface: RigidSurface | None,
        options: RigidContactOptions | None,
        added_inertia: Vector | None,
        largest_step: float,
    ) -> None:
        """Put the arm at rest at `configuration` (n,) [rad].

        added_inertia (n,) [kg m^2]: of the motors, which rigid joints make move with the links; None: they stand
        behind flexible joints. largest_step [s]: where the options leave it open. Raises InvalidInputError.
        """
        flexible = added_inertia is None
        self.robot = robot
        self.options = options or RigidContactOptions()
        self._n = len(robot.joint_names)
        self._period = self.options.joints.sample_period
        ticks = self._period * robot.torque_loop.rate if flexible else 1.0
        if abs(ticks - round(ticks)) > 1e-9 or round(ticks) < 1:
            raise InvalidInputError("sample_period", self._period, f"a multiple of 1/{robot.torque_loop.rate:g} s")
        step = self.options.largest_step or largest_step
        self._steps = round(ticks) * math.ceil(self._period / (round(ticks) * step) - 1e-9)
        self._joints = Joints(
            flexible=flexible,
            gravity_compensation=self.options.joints.gravity_compensation,
            ticks=round(ticks),
            rows=joint_records(robot, self.options.joints),
            added_inertia=np.zeros(self._n) if added_inertia is None else np.array(added_inertia),
        )
        self._chain = serial_chain(robot)
        self._terms = chain_terms(self._n)
        self._arm: Matrix = np.zeros((7, self._n))
        self._clock = np.zeros(2)
        self.reset(configuration, surface)

    def reset(self, configuration: Vector, surface: RigidSurface | None, velocity: Vector | None = None) -> None:
        """Start again at `configuration` (n,) [rad] with another surface, or none; velocity (n,) [rad/s], else rest.

        Points nearer to the surface than TOUCHING are on it. Raises InvalidInputError.
        """
        q = finite_array("configuration", configuration, (self._n,))
        dq = np.zeros(self._n) if velocity is None else finite_array("velocity", velocity, (self._n,))
        self.surface = surface
        self._geometry = _geometry(surface, self.robot)
        count = len(self._geometry.points)
        flags, events = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.int64)
        self._contacts = ContactState(flags, events, np.full(count, math.inf), *np.zeros((3, count)))
        work = contact_work(count, self._n)
        parts = (self._chain, self._joints, self._geometry, self._contacts, self._terms, work)
        self._known, slopes = np.full((LINK_STATE, self._n), math.nan), np.zeros((4 * STATE, self._n))
        self._system = (*map(tuple, parts), self._known, slopes)
        self.time = 0.0
        self._clock[:] = 0.0
        self.impacts: list[Impact] = []
        self.first_contact_time = math.nan
        self._place(q, dq)
        gap = self._contacts.gap
        locate_contacts(self._geometry, self._terms, gap, self._contacts.velocity)
        if gap.min(initial=0.0) < -TOUCHING:
            raise InvalidInputError("configuration", q, f"the end-effector {-gap.min():.4g} m inside the surface")
        near = gap <= TOUCHING
        if near.any():
            self._touch(near)

    def _place(self, q: Vector, dq: Vector) -> None:
        """Set the state; the transmissions hold the arm against gravity, as in plant A, and the motors move along."""
        update_chain(self._chain, q, dq, self._terms)
        gravity = self._terms.gravity
        motors = q + holding_deflection(self.robot.transmission, self._joints.rows["backlash"], gravity)
        self._arm[:STATE] = [q, dq, motors, dq, gravity]

    @property
    def link_position(self) -> Vector:
        """q (n,) [rad]."""
        row: Vector = self._arm[POSITION]
        return row

    @property
    def link_velocity(self) -> Vector:
        """dq (n,) [rad/s]."""
        row: Vector = self._arm[VELOCITY]
        return row

    @property
    def normal_forces(self) -> Vector:
        """Normal force at each contact point (n_c,) [N] at the end of the period; with too many points, one choice."""
        return self._contacts.force

    @property
    def gaps(self) -> Vector:
        """Distance of each contact point to the surface (n_c,) [m]."""
        return self._contacts.gap

    @property
    def gap(self) -> float:
        """Smallest distance to the surface [m]; infinity without a surface."""
        return float(self._contacts.gap.min(initial=math.inf))

    @property
    def closed(self) -> Flags:
        """Which contact points are on the surface (n_c,)."""
        return self._contacts.closed

    def step(self, torque: Vector) -> None:
        """Advance one sample period under the commanded torque (n,) [Nm], without gravity, held constant.

        Raises SimulationError.
        """
        self._arm[COMMAND] = torque
        self._clock[:] = 0.0
        events = 0
        while advance_smooth(self._system, self._period, self._steps, self._clock, self._arm):
            events += 1
            if events > MOST_EVENTS:
                raise self._error("contact", f"{events} events in one sample")
            self._settle()
        velocity = self._arm[VELOCITY]
        # What is lost anywhere is lost there at the latest in the next sample.
        if not math.isfinite(velocity.dot(velocity)):
            raise self._failure()
        self.time += self._period

    def _failure(self) -> SimulationError:
        """Return the error of a state that is no number."""
        command = self._arm[COMMAND]
        given = not np.all(np.isfinite(command))
        lost = ~np.isfinite(command if given else self._arm[:STATE].sum(axis=0))
        names = ", ".join(name for name, is_lost in zip(self.robot.joint_names, lost.tolist(), strict=True) if is_lost)
        return self._error("command" if given else "joint", f"no finite number at {names}")

    def _error(self, part: str, found: str) -> SimulationError:
        return SimulationError(part, found, self._now(), self._period / self._steps)

    def _settle(self) -> None:
        """Deal with points that touch, or else with those that leave."""
        contacts = self._contacts
        if np.any(contacts.event == JAMS):
            raise self._jammed()
        if np.any(contacts.event == TOUCHES):
            self._touch(contacts.closed | (contacts.gap <= TOUCHING))
        else:
            leaving = contacts.event == LEAVES
            contacts.closed[leaving], contacts.force[leaving] = False, 0.0
            # The rows of the closed contacts are those of the points that were closed.
            self._known[:] = math.nan

    def _jammed(self) -> SimulationError:
        return self._error("contact", "no forces that hold all its points")

    def _now(self) -> float:
        """Return the time of an event within the sample [s]."""
        return self.time + float(self._clock[0]) * self._period / self._steps + float(self._clock[1])

    def _touch(self, near: Flags) -> None:
        """Let the points `near` (n_c,) hit the surface; those that do not leave it fast enough stay on it."""
        contacts, velocity = self._contacts, self._arm[VELOCITY]
        if math.isnan(self.first_contact_time):
            self.first_contact_time = self._now()
        if np.any(contacts.velocity[near] < 0.0):
            before, impulse = velocity.copy(), np.zeros(near.size)
            change = strike(self._system, near, self._arm, impulse)
            if math.isnan(change):
                raise self._jammed()
            impulses = np.outer(impulse, self._geometry.normal)
            self.impacts.append(Impact(self._now(), impulses, before, velocity.copy(), change))
        contacts.closed[near] = contacts.velocity[near] <= self.options.rest_speed
        contacts.force[~contacts.closed] = 0.0


def _geometry(surface: RigidSurface | None, robot: RobotDescription) -> ContactGeometry:
    """Return the geometry of an end-effector against a surface; without a surface, there are no points."""
    if surface is None:
        return ContactGeometry(np.zeros((0, 3)), np.array([0.0, 0.0, 1.0]), np.zeros(3), 0.0)
    tool, normal = robot.end_effector, surface.normal / np.linalg.norm(surface.normal)
    return ContactGeometry(np.array(tool.contact_points), normal, np.array(surface.point), float(tool.radius))


class FlexibleJointRigidContactPlant(RigidContactPlant):
    """Plant B: motors, torque loop and filter between the commanded torque and the links.

    Rey Arias 2024 (1)-(4) with section III, Proper 2021 model B. An impact meets the inertia M of the links alone; the
    velocities of the motors stay, Proper 2021 (2.54), (2.56), and the torque loop turns their inertia B_rho into
    B_theta in the milliseconds after.

    Further state: `motor_position`, `motor_velocity` (n,) [rad, rad/s].
    """

    def __init__(
        self,
        robot: RobotDescription,
        configuration: Vector,
        surface: RigidSurface | None = None,
        options: RigidContactOptions | None = None,
    ) -> None:
        """Put the arm at rest at `configuration` (n,) [rad]. Raises InvalidInputError."""
        super().__init__(robot, configuration, surface, options, None, largest_step=_LARGEST_STEP_FLEXIBLE)

    @property
    def motor_position(self) -> Vector:
        """theta (n,) [rad], after the gear."""
        row: Vector = self._arm[MOTOR_POSITION]
        return row

    @property
    def motor_velocity(self) -> Vector:
        """dtheta (n,) [rad/s]."""
        row: Vector = self._arm[MOTOR_VELOCITY]
        return row

    @property
    def joint_torque(self) -> Vector:
        """tau = K (theta - q) (n,) [Nm], what the torque sensors see, less the backlash if there is one; new."""
        return spring_torque(
            self.robot.transmission, self._joints.rows["backlash"], self._arm[MOTOR_POSITION] - self._arm[POSITION]
        )


class RigidJointRigidContactPlant(RigidContactPlant):
    """Plant C: rigid joints, the links follow the commanded torque at once.

    (M + B_theta) ddq + h = u + tau_ext, Rey Arias 2024 (8), Proper 2021 model C with (2.34): the limit of a
    torque-controlled arm with flexible joints when their stiffness goes to infinity. Without the torque loop that limit
    is M + B_rho: nothing reduces the inertia of the motors. The holding torque is exact at any time.
    """

    def __init__(
        self,
        robot: RobotDescription,
        configuration: Vector,
        surface: RigidSurface | None = None,
        options: RigidContactOptions | None = None,
    ) -> None:
        """Put the arm at rest at `configuration` (n,) [rad].

        Raises InvalidInputError, also when the options ask for a backlash or for a torque loop without its filter.
        """
        options = options or RigidContactOptions()
        _require_rigid(options.joints)
        motors = robot.transmission
        added = motors.reduced_motor_inertia if options.joints.torque_loop else motors.motor_inertia
        super().__init__(robot, configuration, surface, options, added, largest_step=_LARGEST_STEP_RIGID)


def _require_rigid(joints: PlantOptions) -> None:
    """Raise InvalidInputError where something is changed that rigid joints do not have."""
    if np.any(np.asarray(joints.backlash.gap) > 0.0):
        raise InvalidInputError("backlash gap", joints.backlash.gap, "0: rigid joints have no play")
    if joints.torque_loop and not joints.torque_filter:
        allowed = "True: with rigid joints the torque loop is ideal, there is nothing to take its filter from"
        raise InvalidInputError("torque_filter", joints.torque_filter, allowed)
