"""Reference-spreading control of one arm in one QP, with the motions after an interruption of the task.

Van Steen 2024 section IV-B: ante-impact, interim and post-impact mode, with the corrections of the Errata and with the
full twist and joint 1 taken through the impact map (Proper 2021 (3.16)-(3.18)). Pull back: Wang 2022 section VI.
Admittance and going on: Flacco 2016 section V-D.
"""

from __future__ import annotations

import numpy as np

from impact_control.control import mode_machine
from impact_control.control.admittance import JointAdmittance
from impact_control.control.contact_force import NO_FORCE, DesiredForce
from impact_control.control.decay import Decay
from impact_control.control.mode_machine import ModeState
from impact_control.control.modes import RUNNING, Event, Fault, Mode
from impact_control.control.resumption import Resumption, resumption_time, slow_down
from impact_control.control.retreat import Retreat
from impact_control.control.torque_law import TorqueLaw
from impact_control.references import ImpactReference, ReferenceColumns, ReferenceTable
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import Admittance, Control, PullBack
from impact_control.util.types import Vector

_FAULT = Mode.FAULT  # read in every sample

QP_FAILURES = 5
"""Problems in a row without a solution after which the controller gives up."""


class ReferenceSpreadingController:
    """Computes one joint torque a sample. All work arrays are made in the constructor.

    The modes follow on each other as in `mode_machine`; here is what is done in each. `reset` at activation -> IDLE,
    holding the pose of the first sample; reactions before the first task are stops.

    Attributes after `compute_torque`: torque (n,) [Nm] without gravity, state (with the mode), fault, task_time [s],
    gamma [-], arrived (the motion of PULL_BACK is done), position_error, velocity_error and orientation_error (3,) in
    frame A, qp (status, limited), force (3,) [N].
    """

    def __init__(self, robot: RobotDescription, control: Control, home: Vector) -> None:
        """home (n,) [rad]: configuration whose inertia the damping of a fault is made for."""
        n = len(robot.joint_names)
        self._control = c = control
        self._law = law = TorqueLaw(robot, c, home)
        self.qp = law.qp
        self._at_rest = np.zeros(n)
        self._decay = Decay(n, c.stop_damping)
        self._hold_rotation = np.eye(3)
        self._retreat = Retreat(c.period)
        self._away = np.array([0.0, 0.0, 1.0])
        # Feedback of a joint that is further from its reference than this is cut by the acceleration's bound.
        reach = c.max_joint_acceleration / c.gains.joint
        lower, upper = robot.limits.position_lower, robot.limits.position_upper
        self._admittance = JointAdmittance(lower, upper, reach, c.stop_damping, c.period)
        self._retreat_parameters = PullBack.of()
        self._admittance_parameters = self._admittance.parameters
        self._resumption = Resumption(n, c.period)
        self.state = ModeState()
        self._reference: ImpactReference | None = None
        self._move: ReferenceTable | None = None
        self._force: DesiredForce = NO_FORCE
        self.ante = ReferenceColumns.one_sample(n)
        self.post = ReferenceColumns.one_sample(n)
        self.fault = Fault.NONE
        self.task_time = 0.0
        self.start_time = 0.0
        self.gamma = 1.0
        self.arrived = False
        self.pressing = False
        self.force, self.orientation_error = law.force, law.orientation_error
        self.position_error, self.velocity_error = law.position_error, law.velocity_error
        self.peak_torque_share = self.peak_torque_rate = 0.0
        self._entering = True

    def change_gains(self, position: float, orientation: float, posture: float) -> None:
        """Use other gains k of the tasks [1/s^2], van Steen 2024 (15)-(17), from the next sample on.

        The torque stays inside its rate limit. Raises InvalidInputError unless they are above 0.
        """
        self._law.change_gains(position, orientation, posture)

    @property
    def mode(self) -> Mode:
        """Mode of the controller."""
        return self.state.mode

    @property
    def torque(self) -> Vector:
        """Commanded torque (n,) [Nm], without gravity."""
        return self.qp.torque

    @property
    def reference(self) -> ImpactReference | None:
        """Reference of the task that runs or ran last."""
        return self._reference

    @property
    def desired(self) -> ReferenceColumns:
        """The reference that is followed."""
        return self.ante if mode_machine.follows_ante(self.state, self._control) else self.post

    @property
    def expected(self) -> ReferenceColumns:
        """The reference of how the joints move now, if the impact is as planned: for the classifier."""
        return self.ante if mode_machine.awaits_impact(self.state, self._control) else self.post

    def reset(self) -> None:
        """Back to IDLE with all buffers cleared, as before the first command; the pose of the next sample is held."""
        self._law.reset()
        self.clear_fault()

    def clear_fault(self) -> None:
        """Back to IDLE after commands that were sent: the next one differs from the last by no more than its rate."""
        self._law.forget()
        self._reference = None
        self.fault = Fault.NONE
        self._happens(Event.RESET)
        self.task_time = 0.0
        self.pressing = False
        self.peak_torque_share = self.peak_torque_rate = 0.0

    def start(self, reference: ImpactReference, force: DesiredForce, time: float) -> None:
        """Begin the task at `time` [s] of the samples' clock; `force` is exerted after the impact."""
        self._reference = reference
        self._force = force
        self.start_time = time
        self.peak_torque_share = self.peak_torque_rate = 0.0
        self.task_time = 0.0
        self._happens(Event.START, time)

    def move(self, motion: ReferenceTable, time: float) -> None:
        """Follow a motion of the joints, from `time` [s] of the samples' clock on, outside of a task."""
        self._move = motion
        self.start_time = time
        self.peak_torque_share = self.peak_torque_rate = 0.0
        self.task_time = 0.0
        self._happens(Event.MOVE)

    @property
    def held_configuration(self) -> Vector:
        """Configuration (n,) [rad] that IDLE and STOPPED hold; for a motion that begins there without a step."""
        return self._decay.position

    def impact(self, time: float) -> bool:
        """An impact was detected at `time` [s]. True when the mode changed."""
        before = self.state.mode
        self.state = mode_machine.transition(self.state, Event.IMPACT, time, self._control)
        return self.state.mode is not before

    def contact_closed(self, time: float) -> None:
        """All contact points bear since `time` [s]: the end of an interim mode that waits for it."""
        self.state = mode_machine.transition(self.state, Event.CONTACT_CLOSED, time, self._control)

    def stop(self) -> None:
        """Let the joint velocities decay and hold where that ends."""
        self._happens(Event.STOP)

    def prepare_reactions(self, away: Vector, retreat: PullBack, admittance: Admittance) -> None:
        """Take the settings of PULL_BACK and ADMITTANCE for the events to come; away (3,): off the contact, frame A."""
        self._away, self._retreat_parameters, self._admittance_parameters = away, retreat, admittance

    def react(self, event: Event) -> None:
        """Handle an event of a reaction; without a task every one but RESUME is a stop.

        PULL_BACK moves the end-effector away. YIELD_TO_ANTE and YIELD_TO_POST follow external torques while the clock
        of the task stands; RESUME goes back to the task, to the reference that the event named.
        """
        if event is Event.PULL_BACK and self._reference is not None:
            self._retreat.aim(self._away, self._retreat_parameters)
        elif event in (Event.YIELD_TO_ANTE, Event.YIELD_TO_POST) and self._reference is not None:
            self._admittance.set_parameters(self._admittance_parameters)
        elif event is not Event.RESUME:
            event = Event.STOP
        self._happens(event)

    def fail(self, fault: Fault) -> None:
        """Damp the joints and accept nothing until `reset`. The first fault is kept."""
        if self.mode is not Mode.FAULT:
            self._happens(Event.FAIL)
            self.fault = fault

    def _happens(self, event: Event, time: float = 0.0) -> None:
        self._enter(mode_machine.transition(self.state, event, time, self._control))

    def _enter(self, state: ModeState) -> None:
        if state is not self.state:
            self.state = state
            self.gamma = 1.0
            self.arrived = False
            self._entering = True

    def compute_torque(
        self, dynamics: Dynamics, time: float, position: Vector, velocity: Vector, external_torque: Vector
    ) -> None:
        """Compute the torque for one sample; `dynamics` holds the terms of this sample.

        time [s] of the sample; position (n,) [rad]; velocity (n,) [rad/s]; external_torque (n,) [Nm]: the observer's
        residual, to which ADMITTANCE yields.
        """
        self.pressing = False
        if self.state.mode is _FAULT:
            self.qp.damp(velocity)
        else:
            self._law.take(dynamics)
            reference = self._reference
            if reference is not None and self.state.mode in RUNNING and self._goes_on(time, reference):
                self._follow(reference)
            else:
                self._obey(dynamics, time, position, velocity, external_torque)
            self._entering = False
            if self._law.failures >= QP_FAILURES:
                self.fail(Fault.QP_FAILED)
        self._note_peaks()

    def damp(self, velocity: Vector) -> None:
        """Command damping for a sample whose dynamics cannot be computed; velocity may be not finite."""
        self.qp.damp(velocity)
        self._note_peaks()

    def _note_peaks(self) -> None:
        qp, period = self.qp, self._control.period
        if qp.torque_share > self.peak_torque_share:
            self.peak_torque_share = qp.torque_share
        if qp.change > self.peak_torque_rate * period:
            self.peak_torque_rate = qp.change / period

    def _obey(self, dynamics: Dynamics, time: float, position: Vector, velocity: Vector, torque: Vector) -> None:
        reference = self._reference
        if self._move is not None and self.mode is Mode.MOVE:
            self._follow_move(self._move, time)
        elif reference is None or self.mode in (Mode.IDLE, Mode.STOPPED):
            self._hold(dynamics, time, position, velocity)
        elif self.mode is Mode.PULL_BACK:
            self._withdraw(dynamics, position)
        elif self.mode is Mode.ADMITTANCE:
            self._yield(dynamics, position, velocity, torque)
        else:
            self._return(reference, time)

    def _stand_still(self, dynamics: Dynamics, position: Vector) -> None:
        """Let the references, which are published, be this pose at rest."""
        for reference in (self.ante, self.post):
            reference.data[:] = 0.0
            reference.position[:] = dynamics.position
            reference.joint_position[:] = position

    def _hold(self, dynamics: Dynamics, time: float, position: Vector, velocity: Vector) -> None:
        if self._entering:
            self._decay.begin(time, position, velocity if self.mode is Mode.STOPPED else self._at_rest)
            self._stand_still(dynamics, position)
        self._decay.at(time)
        self._track(self._decay)

    def _follow_move(self, motion: ReferenceTable, time: float) -> None:
        self.task_time = time - self.start_time
        motion.sample(self.task_time, self.post)
        self.ante.data[:] = self.post.data
        desired = self.post
        self._law.track(desired.joint_position, desired.joint_velocity, desired.joint_acceleration, desired.position)

    def _withdraw(self, dynamics: Dynamics, position: Vector) -> None:
        retreat, desired = self._retreat, self.post
        if self._entering:
            self._stand_still(dynamics, position)
            self._hold_rotation[:] = dynamics.rotation
            desired.posture[0] = position[0]
            retreat.begin(dynamics.position, dynamics.twist[:3])
        self.arrived = retreat.advance()
        desired.position[:] = retreat.position
        desired.velocity[:] = retreat.velocity
        desired.acceleration[:] = retreat.acceleration
        self._law.serve_task(desired, self._hold_rotation, 1.0, NO_FORCE, 0.0)

    def _yield(self, dynamics: Dynamics, position: Vector, velocity: Vector, torque: Vector) -> None:
        admittance = self._admittance
        if self._entering:
            admittance.begin(position, velocity)
        admittance.anchor(position, velocity)
        admittance.advance(torque)
        self._stand_still(dynamics, admittance.position)
        self.post.joint_velocity[:] = admittance.velocity
        self._track(admittance)

    def _goes_on(self, time: float, reference: ImpactReference) -> bool:
        """Let the time of the task pass, and with it the mode; False when that ended the task."""
        self.task_time = time - self.start_time
        state = mode_machine.elapse(self.state, time, self.task_time - reference.nominal_impact_time, self._control)
        if state.mode not in RUNNING:
            self._enter(state)
            return False
        self.state = state
        self.gamma = mode_machine.velocity_feedback(state, time, self._control)
        return True

    def _follow(self, reference: ImpactReference) -> None:
        self._sample(reference)
        ante = mode_machine.follows_ante(self.state, self._control)
        self._serve_reference(reference, self.ante if ante else self.post, 0.0 if ante else 1.0)

    def _return(self, reference: ImpactReference, time: float) -> None:
        resumption, desired = self._resumption, self.desired
        if self._entering:
            self._plan_return(reference, time, desired)
        if time < resumption.back_time:
            resumption.back_at(time)
            desired.joint_position[:] = resumption.position
            desired.joint_velocity[:] = resumption.velocity
            self._track(resumption)
            return
        self.task_time, rate, rate_change = resumption.clock(time)
        self._sample(reference)
        for columns in (self.ante, self.post):
            slow_down(columns, rate, rate_change)
        self._serve_reference(reference, desired, rate if desired is self.post else 0.0)
        if rate >= 1.0:
            self.start_time = time - self.task_time
            self.state = mode_machine.transition(self.state, Event.RESUMED, time, self._control)

    def _plan_return(self, reference: ImpactReference, time: float, desired: ReferenceColumns) -> None:
        led = self._admittance.parameters
        if self.state.resume_in is Mode.ANTE:
            self.task_time = resumption_time(self.task_time, reference.nominal_impact_time, led.resume_duration)
        self._sample(reference)
        for columns in (self.ante, self.post):
            slow_down(columns, 0.0, 0.0)
        self._resumption.begin(
            time,
            self._admittance.position,
            desired.joint_position,
            led.speed,
            led.acceleration,
            self.task_time,
            led.resume_duration,
        )

    def _sample(self, reference: ImpactReference) -> None:
        reference.ante.sample(self.task_time, self.ante)
        reference.post.sample(self.task_time, self.post)

    def _serve_reference(self, reference: ImpactReference, desired: ReferenceColumns, share: float) -> None:
        """Follow a sample of a reference, with this share of the contact force."""
        self.pressing = share > 0.0
        self._law.serve_reference(desired, reference.geometry.orientation, self.gamma, self._force, share)

    def _track(self, motion: Decay | JointAdmittance | Resumption) -> None:
        self._law.track(motion.position, motion.velocity, motion.acceleration, self.desired.position)
