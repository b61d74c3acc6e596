"""Services: predict_post_impact, the simulation's and the supervisor's. An answer that can be sent, or a reason."""

from __future__ import annotations

import time

import numpy as np
from geometry_msgs.msg import Vector3
from impact_msgs.srv import PredictPostImpact
from rclpy.serialization import deserialize_message, serialize_message
from source import Source, chance, choice
from std_srvs.srv import SetBool, Trigger

from impact_control.planning.assignment import assigned
from impact_control_ros.bridge.supervision import Supervision
from impact_control_ros.nodes.predictor import PredictorNode
from impact_control_ros.nodes.simulator import SimulatorNode
from impact_control_ros.nodes.supervisor import SupervisorNode
from surfaces import BrokenPromiseError
from surfaces.graph import GraphTarget, fill, renew

REMEMBERED = ("_allow", "_finding", "_present", "_asked", "_reaction")
"""State that a supervisor keeps from one request to the next, also where it is activated anew."""

FRAMES = ("", "end_effector", "panda_link7", "panda_joint3", "universe", "panda_hand")


class Services(GraphTarget):
    """Requests, handed to the handlers of the nodes as the executor does."""

    def __init__(self) -> None:
        super().__init__()
        self._predictor: PredictorNode = self._graph.add(PredictorNode, configured=True)
        self._simulator: SimulatorNode = self._graph.add(SimulatorNode, configured=True)
        self._supervisor: SupervisorNode = self._graph.add(SupervisorNode, configured=True)
        self._unasked = {name: getattr(self._supervisor, name) for name in REMEMBERED}
        reference = assigned("tabletop").plan().reference
        self._position = reference.impact_configuration.tolist()
        self._velocity = reference.ante_impact_velocity.tolist()
        self._offset = Vector3(**dict(zip("xyz", map(float, reference.geometry.contact_offset), strict=True)))

    def __call__(self, source: Source) -> bool:
        """Make one request, or a few to the nodes that have a state."""
        kind = source.integer(0, 9)
        if kind < 8:
            return self._predict(source)
        return self._simulate(source) if kind < 9 else self._supervise(source)

    def _predict(self, source: Source) -> bool:
        request = PredictPostImpact.Request(
            joint_position=self._position,
            joint_velocity=self._velocity,
            normal=Vector3(x=0.0, y=0.0, z=1.0),
            contact_offset=self._offset,
            inertia_model=source.integer(0, 3),
            frame=choice(source, FRAMES),
        )
        request = deserialize_message(serialize_message(fill(request, source)), PredictPostImpact.Request)
        answer = self._predictor.built._on_request(request, PredictPostImpact.Response())
        serialize_message(answer)
        if not answer.success:
            if not answer.reason:
                raise BrokenPromiseError("refused without a reason")
            return False
        after, impulse = np.array(answer.joint_velocity), answer.normal_impulse
        if len(after) != 7 or not np.all(np.isfinite(after)) or not np.isfinite(impulse) or impulse < 0.0:
            raise BrokenPromiseError(f"predicted {after} with an impulse of {impulse}")
        return True

    def _simulate(self, source: Source) -> bool:
        node, done = self._simulator, True
        renew(node)
        for side in node.built.sides.values():
            side.stopped = False
        for _ in range(source.integer(1, 4)):
            switch = SetBool.Request(data=chance(source, 2))
            kind = source.integer(0, 40)
            if kind == 40:
                answer = node.built._on_reset(Trigger.Request(), Trigger.Response())
            else:
                answer = (node.built._on_pause if kind % 2 else node.built._on_accept)(switch, SetBool.Response())
            serialize_message(answer)
            done = done and answer.success
        return done

    def _supervise(self, source: Source) -> bool:
        node, done = self._supervisor, True
        self._bring_to(choice(source, tuple(Supervision)))
        for _ in range(source.integer(1, 4)):
            kind = source.integer(0, 3)
            if kind > 1:
                node.look() if kind == 2 else node.diagnose()
                continue
            answer = (node.on_reset if kind else node.on_stop)(Trigger.Request(), Trigger.Response())
            serialize_message(answer)
            if not answer.message:
                raise BrokenPromiseError("answered without a word")
            done = done and answer.success
        return done

    def _bring_to(self, state: Supervision) -> None:
        """Bring the supervisor to a state in which it looks at arms from now on, whatever came before."""
        node = self._supervisor
        vars(node).update(self._unasked)
        for arm in node.built.arms:
            arm.watch.start(time.monotonic())
        if state in (Supervision.STOPPING, Supervision.STOPPED):
            node.on_stop(Trigger.Request(), Trigger.Response())
        node._state = state
