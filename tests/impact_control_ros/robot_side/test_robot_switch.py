"""The switch of ros2_control, which is not installed here: service, request and answer as its definition has them."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
from rclpy.task import Future

from impact_control.util.errors import MissingDependencyError
from impact_control_ros.bridge.topics import ACCEPT
from impact_control_ros.robot_side.robot_switch import AWAITED, SwitchKind, robot_switches, switches_of


class SwitchController:
    """controller_manager_msgs/srv/SwitchController, as far as it is used."""

    class Request(SimpleNamespace):
        BEST_EFFORT = 1
        STRICT = 2


class ListControllers:
    """controller_manager_msgs/srv/ListControllers."""

    class Request(SimpleNamespace):
        pass


class Manager:
    """A controller manager with the effort controller of one arm; obeys as that of ros2_control 4.46."""

    def __init__(self):
        self.state = "active"

    def switch(self, request):
        wanted = "active" if hasattr(request, "activate_controllers") else "inactive"
        (name,) = vars(request).get("activate_controllers") or request.deactivate_controllers
        if name != "effort_controller" or self.state is None:
            return SimpleNamespace(ok=False)
        able = {self.state, wanted} == {"active", "inactive"}
        if able:
            self.state = wanted
        return SimpleNamespace(ok=able or request.strictness == SwitchController.Request.BEST_EFFORT)

    def list(self, request):
        states = {"joint_state_broadcaster": "active", "effort_controller": self.state}
        return SimpleNamespace(
            controller=[SimpleNamespace(name=name, state=state) for name, state in states.items() if state is not None]
        )


class Client:
    """A client whose requests wait until the test has them served."""

    def __init__(self, serve):
        self.serve = serve
        self.ready = True
        self.asked = []
        self.pending = []

    def service_is_ready(self):
        return self.ready

    def call_async(self, request):
        self.asked.append(request)
        self.pending.append((request, Future()))
        return self.pending[-1][1]

    def remove_pending_request(self, future):
        self.pending = [(request, awaited) for request, awaited in self.pending if awaited is not future]

    def obey(self):
        """Serve the oldest request; return its answer."""
        return self.serve(self.pending[0][0])

    def answer(self):
        """Serve the oldest request, have the answer arrive."""
        answer, (_, future) = self.obey(), self.pending.pop(0)
        future.set_result(answer)


class Node:
    """Factory of clients, with the controller managers of all arms; accepting: whether a simulator takes commands."""

    def __init__(self):
        self.managers = {}
        self.clients = {}
        self.accepting = True

    def accept(self, request):
        self.accepting = request.data
        return SimpleNamespace(success=True)

    def client(self, kind, name):
        if name == ACCEPT:
            self.clients[name] = Client(self.accept)
            return self.clients[name]
        arm, _, service = name.rpartition("controller_manager/")
        manager = self.managers.setdefault(arm.rstrip("/"), Manager())
        self.clients[name] = Client({"switch_controller": manager.switch, "list_controllers": manager.list}[service])
        return self.clients[name]


class Side:
    """A switch with the manager and the clients behind it."""

    def __init__(self):
        node = Node()
        (self.switch,) = robot_switches(node, SwitchKind.ROS2_CONTROL, [""])
        self.manager = node.managers[""]
        self.switcher, self.lister = node.clients.values()

    def settle(self):
        """Have everything answered that was asked for."""
        while self.switcher.pending or self.lister.pending:
            (self.switcher if self.switcher.pending else self.lister).answer()


@pytest.fixture
def ros2_control(monkeypatch):
    module = ModuleType("controller_manager_msgs.srv")
    module.SwitchController, module.ListControllers = SwitchController, ListControllers
    monkeypatch.setitem(sys.modules, "controller_manager_msgs", ModuleType("controller_manager_msgs"))
    monkeypatch.setitem(sys.modules, "controller_manager_msgs.srv", module)


@pytest.fixture
def side(ros2_control):
    return Side()


def test_the_stand_in_refuses_as_the_controller_manager_does():
    for state, which in (("inactive", "deactivate_controllers"), ("active", "activate_controllers")):
        manager = Manager()
        manager.state = state
        for strictness, ok in ((SwitchController.Request.STRICT, False), (SwitchController.Request.BEST_EFFORT, True)):
            request = SwitchController.Request(**{which: ["effort_controller"]}, strictness=strictness)
            assert manager.switch(request).ok is ok
            assert manager.state == state


def test_the_effort_controller_of_each_arm_is_deactivated_and_activated_again(ros2_control):
    node = Node()
    switches = robot_switches(node, SwitchKind.ROS2_CONTROL, ["left", "right"])
    names = [
        f"{arm}/controller_manager/{service}"
        for arm in ("left", "right")
        for service in ("switch_controller", "list_controllers")
    ]
    assert list(node.clients) == names == list(switches_of(SwitchKind.ROS2_CONTROL, ["left", "right"]))
    for switch, arm in zip(switches, ("left", "right"), strict=True):
        switcher, lister = (node.clients[name] for name in names if name.startswith(arm))
        assert not switch.done
        for allow, which, state in (
            (False, "deactivate_controllers", "inactive"),
            (True, "activate_controllers", "active"),
        ):
            switch.ask(allow)
            assert vars(switcher.asked[-1]) == {which: ["effort_controller"], "strictness": 1}
            switcher.answer()
            assert not switch.done
            lister.answer()
            assert switch.done
            assert node.managers[arm].state == state


def test_a_simulator_on_topics_is_asked_beside_the_managers(ros2_control):
    node, arms = Node(), ["left", "right"]
    kind = SwitchKind.SIMULATOR_ON_TOPICS
    simulator, *managed = robot_switches(node, kind, arms)
    assert list(node.clients) == list(switches_of(kind, arms)) == [ACCEPT, *switches_of(SwitchKind.ROS2_CONTROL, arms)]
    assert len(managed) == 2
    for allow in (False, True):
        simulator.ask(allow)
        node.clients[ACCEPT].answer()
        assert simulator.done and node.accepting is allow


def test_a_late_answer_counts(side):
    side.switch.ask(False)
    side.switch.ask(False)
    side.switcher.answer()
    side.switch.ask(False)
    side.lister.answer()
    assert side.switch.done


@pytest.mark.parametrize("lost", ["switcher", "lister"])
def test_where_an_answer_gets_lost_the_next_one_counts(side, lost):
    side.switch.ask(False)
    if lost == "lister":
        side.switcher.answer()
    client = getattr(side, lost)
    client.obey()
    client.pending.clear()
    assert side.manager.state == "inactive" and not side.switch.done
    side.switch.ask(False)
    side.settle()
    assert side.switch.done


@pytest.mark.parametrize(("allow", "state"), [(False, "inactive"), (True, "active")])
def test_what_the_manager_has_done_itself_is_done(side, allow, state):
    side.manager.state = state
    side.switch.ask(allow)
    side.settle()
    assert side.switch.done
    assert side.manager.state == state


@pytest.mark.parametrize(("allow", "state"), [(True, "unconfigured"), (True, None), (False, None)])
def test_a_controller_that_cannot_be_switched_is_not_done(side, allow, state):
    side.manager.state = state
    side.switch.ask(allow)
    side.settle()
    assert not side.switch.done


def test_one_that_is_done_is_not_asked_again(side):
    side.switch.ask(False)
    side.settle()
    side.switch.ask(False)
    assert len(side.switcher.asked) == 1
    assert side.switch.done


def test_an_answer_to_what_was_asked_for_before_does_not_count(side):
    side.switch.ask(False)
    side.switcher.answer()
    (_, stale), said = side.lister.pending[0], side.lister.obey()
    side.switch.ask(True)
    stale.set_result(said)
    assert not side.switch.done
    assert not side.lister.pending
    side.settle()
    assert side.switch.done and side.manager.state == "active"


def test_services_that_are_not_there_are_not_asked(side):
    side.switcher.ready = False
    side.switch.ask(False)
    assert not side.switcher.asked and not side.switch.done
    side.switcher.ready = True
    side.switch.ask(False)
    side.settle()
    assert side.switch.done


def test_a_service_that_hangs_is_asked_without_end_and_few_answers_are_awaited(side):
    for _ in range(2 * AWAITED):
        side.switch.ask(False)
    assert len(side.switcher.asked) == 2 * AWAITED
    assert len(side.switcher.pending) == AWAITED
    side.settle()
    assert side.switch.done


def test_without_ros2_control_it_is_said_what_to_install(monkeypatch):
    for module in ("controller_manager_msgs", "controller_manager_msgs.srv"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match="install ros2_control"):
        robot_switches(Node(), SwitchKind.ROS2_CONTROL, [""])
