"""Calls of services and lifecycle transitions of other nodes, whose answers may get lost."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from action_msgs.msg import GoalInfo
from action_msgs.srv import CancelGoal
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from impact_control.util.errors import ImpactControlError

CALL_PATIENCE = 10.0
"""[s] a service of a running node may take."""

ANSWER_PATIENCE = 2.0
"""[s] after which a lifecycle node is asked for its state instead of being waited for."""

START_PATIENCE = 180.0
"""[s] a node may take to start, or to change its state: its kernels may have to be compiled first."""

GREETING_PATIENCE = 0.5
"""[s] after which a node that is waited for is asked again: it may have been asked before it could answer."""

ATTEMPTS = 2
"""Requests for a transition while no answer comes and the state stays: request or answer may get lost."""

TARGETS = {
    Transition.TRANSITION_CONFIGURE: State.PRIMARY_STATE_INACTIVE,
    Transition.TRANSITION_ACTIVATE: State.PRIMARY_STATE_ACTIVE,
    Transition.TRANSITION_DEACTIVATE: State.PRIMARY_STATE_INACTIVE,
    Transition.TRANSITION_CLEANUP: State.PRIMARY_STATE_UNCONFIGURED,
}
"""State that each transition leads to."""


@dataclass(frozen=True)
class Change:
    """A requested lifecycle transition: node, state before it, and pending answer."""

    node: str
    transition: int
    before: int
    answer: Future


class NoAnswerError(ImpactControlError):
    """A service or an action did not answer in time."""


class Caller:
    """Calls services from one node. `spin` serves its callbacks for at most the given seconds, and may raise."""

    def __init__(self, node: Node, spin: Callable[[float], None]) -> None:
        self._node = node
        self._spin = spin
        self._clients: dict[tuple[type, str], Any] = {}
        self._actions: dict[tuple[type, str], ActionClient] = {}

    def close(self) -> None:
        """Destroy the clients that a node does not destroy, those of actions."""
        for action in self._actions.values():
            action.destroy()
        self._actions.clear()

    def wait(self, ready: Callable[[], bool], patience: float, what: str) -> None:
        """Spin until `ready`; raise NoAnswerError after `patience` [s]."""
        end = time.monotonic() + patience
        while not ready():
            self._spin(0.02)
            if time.monotonic() > end:
                raise NoAnswerError(f"{what} did not answer within {patience:g} s")

    def result_of(self, future: Future, patience: float, what: str) -> Any:
        """Spin until a future is done and return its result; raise NoAnswerError after `patience` [s]."""
        self.wait(future.done, patience, what)
        return future.result()

    def call(self, kind: type, name: str, request: Any, patience: float = CALL_PATIENCE) -> Any:
        """Call a service and return its answer. name: relative to the node's namespace."""
        client = self._client(kind, name)
        self.wait(client.service_is_ready, patience, f"service {name}")
        future = client.call_async(request)
        try:
            self.wait(future.done, patience, f"service {name}")
        except NoAnswerError:
            client.remove_pending_request(future)
            raise
        return future.result()

    def call_until_answered(
        self, kind: type, name: str, request: Any, patience: float = CALL_PATIENCE, attempt: float = ANSWER_PATIENCE
    ) -> Any:
        """Call a service that may be asked more than once, again after each `attempt` [s], and return its answer.

        A node that was discovered only just now may lose a request, or an answer.
        """
        end = time.monotonic() + patience
        while True:
            try:
                return self.call(kind, name, request, attempt)
            except NoAnswerError:
                if time.monotonic() > end:
                    raise NoAnswerError(f"service {name} did not answer within {patience:g} s") from None

    def run(
        self,
        kind: Any,
        name: str,
        goal: Any,
        *,
        end: str,
        find: float,
        timeout: float,
        on_feedback: Callable[[Any], None] | None = None,
    ) -> Any:
        """Have an action run a goal and return its answer, None for a goal that is not accepted.

        One that takes longer than `timeout` [s] is cancelled. end: what is waited for, in words. find: seconds the
        server may take to be found. Raises NoAnswerError.
        """
        handle = self.send_goal(kind, name, goal, find, on_feedback)
        if not handle.accepted:
            return None
        try:
            return self.result_of(handle.get_result_async(), timeout, end)
        except BaseException:  # Ctrl-C, too: the arm would move on
            self.result_of(handle.cancel_goal_async(), CALL_PATIENCE, "the cancellation")
            raise

    def send_goal(
        self, kind: Any, name: str, goal: Any, patience: float, on_feedback: Callable[[Any], None] | None = None
    ) -> Any:
        """Send a goal to an action and return its handle; `patience` [s] for the server to be found.

        Its answer to a client that it has not discovered yet is lost, and the arm would move without a way to cancel.
        So it answers the cancellation of an unknown goal first: that client is made last, and so found last.
        """
        action = self._actions.get((kind, name))
        if action is None:
            action = self._actions[(kind, name)] = ActionClient(self._node, kind, name)
        self.wait(action.server_is_ready, patience, f"action {name}")
        unknown = CancelGoal.Request(goal_info=GoalInfo(goal_id=UUID(uuid=list(uuid.uuid4().bytes))))
        self.call_until_answered(CancelGoal, f"{name}/_action/cancel_goal", unknown, patience, GREETING_PATIENCE)
        sent = action.send_goal_async(goal, feedback_callback=on_feedback)
        return self.result_of(sent, min(patience, CALL_PATIENCE), "the answer to the goal")

    def await_node(self, node: str) -> None:
        """Wait until a lifecycle node answers, and so has found us too: answers to strangers get lost."""
        self._client(ChangeState, f"{node}/change_state")
        self.state(node, START_PATIENCE, GREETING_PATIENCE)

    def state(self, node: str, patience: float = CALL_PATIENCE, attempt: float = ANSWER_PATIENCE) -> int:
        """Return the id of a node's lifecycle state; raise NoAnswerError when it is busy for longer than `patience`."""
        request = GetState.Request()
        return int(self.call_until_answered(GetState, f"{node}/get_state", request, patience, attempt).current_state.id)

    def change(self, node: str, transition: int) -> bool:
        """Ask for a lifecycle transition and wait for its end; return True when it was made."""
        return self.end_change(self.begin_change(node, transition))

    def begin_change(self, node: str, transition: int) -> Change:
        """Ask for a lifecycle transition, which `end_change` waits for."""
        return Change(node, transition, self.state(node), self._ask_for(node, transition))

    def end_change(self, change: Change) -> bool:
        """Wait for the end of a lifecycle transition; return True when it was made.

        When no answer comes the state is asked for: the request is not sent twice unless it had no effect,
        because one that was made is refused the second time.
        """
        node, future = change.node, change.answer
        end = time.monotonic() + START_PATIENCE
        for attempt in range(ATTEMPTS):
            if attempt > 0:
                future = self._ask_for(node, change.transition)
            state = self._await_change(node, future, end)
            if future.done():
                return bool(future.result().success)
            self._client(ChangeState, f"{node}/change_state").remove_pending_request(future)
            if state == TARGETS[change.transition]:
                return True
            if state != change.before:
                return False
        return False

    def _await_change(self, node: str, answer: Future, end: float) -> int | None:
        """Wait for the answer to a transition; return the state of a node that has none under way, but gave no answer.

        None when the answer came, or when `end` is past.
        """
        with suppress(NoAnswerError):
            while (left := end - time.monotonic()) > 0.0:
                try:
                    self.wait(answer.done, ANSWER_PATIENCE, f"service {node}/change_state")
                    return None
                except NoAnswerError:
                    state = self.state(node, left)
                # An activation may wait for something: the answer is still to come.
                if state != State.TRANSITION_STATE_ACTIVATING:
                    return state
        return None

    def _ask_for(self, node: str, transition: int) -> Future:
        """Send the request for a transition of a node that is there."""
        client = self._client(ChangeState, f"{node}/change_state")
        self.wait(client.service_is_ready, CALL_PATIENCE, f"service {node}/change_state")
        return client.call_async(ChangeState.Request(transition=Transition(id=transition)))

    def _client(self, kind: type, name: str) -> Any:
        client = self._clients.get((kind, name))
        if client is None:
            client = self._clients[(kind, name)] = self._node.create_client(kind, name)
        return client
