"""The exchange through shared memory: the side of the hardware in C++, that of the simulator in Python."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from hardware_stand_in import SOURCE, Manager, compiled
from impact_control.simulation import Measurement
from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control_ros.robot_side.shared_exchange import SEGMENT, SharedExchange, segment_name

JOINTS = ("left_joint1", "left_joint2", "left_joint3")
LONG = 60_000
"""[ms] that no test waits."""
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("manager"))


@pytest.fixture
def name():
    name = f"/impact_test_{os.getpid()}_{next(NUMBERS)}"
    yield name
    segment_file(name, missing_ok=True)


@pytest.fixture
def manager(program, name):
    with Manager(program, name, JOINTS) as manager:
        yield manager


@pytest.fixture
def simulator(name):
    simulator = SharedExchange(name, JOINTS)
    yield simulator
    simulator.close()


def segment_file(name, missing_ok=False):
    """The content of a segment as one record; with missing_ok the segment is removed instead."""
    path = f"/dev/shm{name}"
    if missing_ok:
        return os.path.exists(path) and os.unlink(path)
    return np.memmap(path, SEGMENT, mode="r+")


def sample(value):
    return Measurement(*(np.full(3, scale * value) for scale in (1.0, 10.0, 100.0)))


def test_the_hardware_waits_until_there_is_a_simulator_and_a_sample(manager, request):
    assert manager.ask("attach") == "absent"
    simulator = request.getfixturevalue("simulator")
    assert manager.ask("attach") == "absent", "it may take its time to its first sample"
    simulator.put(sample(0.25))
    assert manager.ask("attach") == "attached"
    assert manager.ask("read", LONG) == "sample 1 0.25 2.5 25"


def test_a_command_answers_a_sample_once(manager, simulator):
    simulator.put(sample(1.0))
    manager.ask("attach")
    assert manager.ask("write", 1, 9.0, 9.0, 9.0) == "written", "without effect: nothing was read"
    assert not simulator.await_command(0.0)
    for _ in range(2):
        assert manager.ask("read", LONG).startswith("sample 1 "), "it stays until it is answered"
    manager.ask("write", 1, 0.5, -0.5, 1.5)
    manager.ask("write", 1, 9.0, 9.0, 9.0)
    assert simulator.await_command(60.0)
    np.testing.assert_array_equal(simulator.torque(), [0.5, -0.5, 1.5])
    assert manager.ask("read", 1) == "timeout", "there is no sample after it yet"
    simulator.put(sample(2.0))
    assert manager.ask("read", LONG) == "sample 2 2 20 200"
    manager.ask("write", 0, 1.0, 1.0, 1.0)
    assert simulator.await_command(60.0) and simulator.torque() is None, "no controller commands"


def test_no_sample_and_no_command_is_lost_or_repeated(manager, simulator):
    count = 2000
    simulator.put(sample(1.0))
    manager.ask("attach")
    manager.order("run", count)
    for number in range(1, count + 1):
        assert simulator.await_command(60.0)
        np.testing.assert_array_equal(simulator.torque(), [number, number, 110.0 * number])
        simulator.put(sample(number + 1.0))
    assert manager.answer() == "ran"


def test_the_end_of_the_simulator_is_known_at_once(manager, simulator, request):
    simulator.put(sample(1.0))
    manager.ask("attach")
    manager.ask("read", LONG)
    manager.ask("write", 1)
    manager.order("read", LONG)
    simulator.close()
    assert manager.answer() == "gone"
    assert manager.ask("attach") == "absent"
    after = SharedExchange(request.getfixturevalue("name"), JOINTS)
    after.put(sample(3.0))
    assert manager.ask("attach") == "attached" and manager.ask("read", LONG) == "sample 1 3 30 300"
    after.close()
    # For the fixture, which closes what it made.
    simulator.close = lambda: None


SIMULATOR = """
import sys, time
import numpy as np
from impact_control.simulation import Measurement
from impact_control_ros.robot_side.shared_exchange import SharedExchange
exchange = SharedExchange(sys.argv[1], sys.argv[2:])
exchange.put(Measurement(*np.zeros((3, 3))))
print("there", flush=True)
time.sleep(600.0)
"""


def test_a_killed_simulator_is_noticed_and_replaced(manager, name):
    command = [sys.executable, "-c", SIMULATOR, name, *JOINTS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "there\n"
        assert manager.ask("attach") == "attached"
        assert manager.ask("read", LONG).startswith("sample 1 ")
        manager.ask("write", 1)
        process.send_signal(signal.SIGSTOP)
        assert manager.ask("read", 1) == "timeout", "it stands still"
        process.kill()
    assert manager.ask("read", 1) == "gone"
    assert manager.ask("attach") == "absent", "what a dead simulator left is none"
    simulator = SharedExchange(name, JOINTS)
    simulator.put(sample(4.0))
    assert manager.ask("attach") == "attached" and manager.ask("read", LONG) == "sample 1 4 40 400"
    simulator.close()


@pytest.mark.parametrize("answered", [False, True])
def test_the_hardware_after_a_killed_one_goes_on_where_that_was(program, manager, simulator, name, answered):
    simulator.put(sample(1.0))
    manager.ask("attach")
    manager.ask("read", LONG)
    if answered:
        manager.ask("write", 1, 2.0, 2.0, 2.0)
    manager.kill()
    if answered:
        assert simulator.await_command(60.0)
        simulator.put(sample(2.0))
    with Manager(program, name, JOINTS) as next_one:
        assert next_one.ask("attach") == "attached"
        assert next_one.ask("read", LONG).startswith("sample 2 " if answered else "sample 1 ")
        next_one.ask("write", 1)
        assert simulator.await_command(60.0) and simulator.torque() is not None


def test_an_arm_has_one_hardware_and_one_simulator(program, manager, simulator, name):
    simulator.put(sample(1.0))
    manager.ask("attach")
    with Manager(program, name, JOINTS) as second:
        assert second.ask("attach") == f"refused: {name} is in use by another hardware; allowed: one"
        manager.ask("detach")
        assert second.ask("attach") == "attached"
    with pytest.raises(ImpactControlError, match="in use by another simulator; allowed: one"):
        SharedExchange(name, JOINTS)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("version", 4, "version = 4; allowed: 3"),
        ("magic", b"OTHER", "content = something else; allowed: the segment of a simulator"),
        ("joints", 2, "joints = left_joint1, left_joint2; allowed: left_joint1, left_joint2, left_joint3"),
        ("size", 8, "version = 3; allowed: 3"),
    ],
)
def test_another_layout_is_refused(manager, simulator, name, field, value, said):
    simulator.put(sample(1.0))
    segment_file(name)[field] = value
    assert manager.ask("attach") == f"refused: {name}: {said}"


def test_another_size_is_refused_and_one_in_the_making_is_waited_for(manager, simulator, name):
    os.truncate(f"/dev/shm{name}", 0)
    assert manager.ask("attach") == "absent"
    os.truncate(f"/dev/shm{name}", SEGMENT.itemsize + 8)
    allowed = f"size = {SEGMENT.itemsize + 8} bytes; allowed: {SEGMENT.itemsize}"
    assert manager.ask("attach") == f"refused: {name}: {allowed}"


@pytest.mark.parametrize("wrong", ["", "/", "no_slash", "/two/parts"])
def test_names_that_are_none_are_refused(program, wrong):
    with pytest.raises(InvalidInputError, match="shared memory"):
        SharedExchange(wrong, JOINTS)
    with Manager(program, wrong, JOINTS) as manager:
        assert f"'{wrong}'; allowed: " in manager.answer()


def test_names_differ_by_domain_and_namespace():
    places = [("", ""), ("", "7"), ("left", "7"), ("/right/", "7"), ("a/b", "7")]
    names = [segment_name(*place) for place in places]
    assert len(set(names)) == len(names) and all(re.fullmatch(r"/[\w.]+", name) for name in names)


def test_the_package_builds_without_ros2_control_and_names_its_plugin(tmp_path):
    options = ["-DCMAKE_DISABLE_FIND_PACKAGE_hardware_interface=ON", "-Wno-dev"]
    command = ["cmake", "-S", str(SOURCE), "-B", str(tmp_path), *options]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert "not the hardware: hardware_interface is missing" in " ".join(said.split())
    subprocess.run(["cmake", "--build", str(tmp_path)], check=True, capture_output=True)
    (kind,) = ElementTree.parse(SOURCE / "impact_sim_hardware.xml").iter("class")
    text = (SOURCE / "src" / "sim_hardware.cpp").read_text()
    assert f"PLUGINLIB_EXPORT_CLASS({kind.get('type')}, {kind.get('base_class_type')})" in text
