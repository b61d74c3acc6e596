"""The guard in C++: its core with the compiler of this machine, and its tests with faults planted into it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "impact_guard"
CORE = "include/impact_guard/guard.hpp"


def run(*command, directory):
    """Run a command; return its exit code and everything it said."""
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def test_the_core_builds_without_ros2_control_and_passes_its_tests(tmp_path):
    options = ["-DCMAKE_DISABLE_FIND_PACKAGE_controller_interface=ON", "-DCMAKE_BUILD_TYPE=Release", "-Wno-dev"]
    for command in (
        ["cmake", "-S", str(SOURCE), "-B", str(tmp_path), "-DCMAKE_CXX_FLAGS=-Wconversion -Wshadow -Werror", *options],
        ["cmake", "--build", str(tmp_path)],
    ):
        code, said = run(*command, directory=tmp_path)
        assert code == 0, said[-3000:]
        if "-S" in command:
            assert "not the controller" in said and "controller_interface is missing" in " ".join(said.split())
    code, said = run("ctest", "--output-on-failure", directory=tmp_path)
    assert code == 0, said
    assert "100% tests passed, 0 tests failed out of 3" in said


MAILBOX = "include/impact_guard/mailbox.hpp"
FAULTS = {
    "no torque limit": (CORE, "clamp(desired, settings_.torque_limit[i])", "desired", "limits"),
    "no rate limit": (CORE, "clamp(target - output_[i], settings_.torque_step[i])", "target - output_[i]", "limits"),
    "no rate limit while damping": (
        CORE,
        "const double step = clamp(target - output_[i], settings_.torque_step[i]);",
        "const double step = active ? clamp(target - output_[i], settings_.torque_step[i]) : target - output_[i];",
        "limits",
    ),
    "rate limit of the first joint for all": (CORE, "settings_.torque_step[i])", "settings_.torque_step[0])", "limits"),
    "start outside the limits": (CORE, "clamp(present[i], settings_.torque_limit[i])", "present[i]", "limits"),
    "pushes instead of damping": (
        CORE,
        "return -damping * velocity - damping * above;",
        "return damping * velocity + damping * above;",
        "limits",
    ),
    "not doubled": (CORE, " - damping * above;", ";", "course"),
    "the whole speed is doubled": (CORE, "damping * above;", "damping * velocity;", "course"),
    "holds the last torque": (CORE, "active ? newest_.torque[i]", "any_ ? newest_.torque[i]", "limits"),
    "NaN is followed": (CORE, "!std::isfinite(command.torque[i])", "false", "limits"),
    "an unknown velocity is used": (CORE, "known ? damped(", "true ? damped(", "limits"),
    "time-out a nanosecond late": (CORE, "later - earlier <=", "later - earlier <= 1 +", "course"),
    "time-out a nanosecond early": (CORE, "later - earlier <=", "later - earlier <", "course"),
    "a wrong size keeps the command alive": (CORE, "command.size != settings_.size", "false", "course"),
    "a label for others is not seen": (CORE, "!label.empty() && label != own", "false", "course"),
    "a command without a label is refused": (CORE, "!label.empty() && label != own", "label != own", "course"),
    "the order of a label is ignored": (CORE, "label != own", "label.size() != own.size()", "course"),
    "other joints are followed": (CORE, "if (command.other_joints)", "if (false)", "course"),
    "follows at once again": (CORE, "regular_ >= settings_.recovery_commands", "regular_ >= 1", "course"),
    "stragglers count": (CORE, "any_ && timely(command.received) ? regular_ + 1 : 1", "regular_ + 1", "course"),
    "second source unseen": (CORE, "second_source_ || (any_ && timely(command.received))", "false", "course"),
    "successor taken for a rival": (CORE, "(any_ && timely(command.received))", "any_", "course"),
    "second source forgotten at once": (CORE, "if (regular && one_publisher)", "if (regular)", "course"),
    "activation keeps the old command": (CORE, "    any_ = false;\n", "", "course"),
    "commands from before the activation": (CORE, "&& command->received >= activated_", "", "course"),
    "allocates": (
        CORE,
        "    ++report_.cycles;",
        "    ++report_.cycles; delete[] new volatile char[8]; ::operator delete(::operator new(8));",
        "real_time",
    ),
    "mailbox of two slots": (MAILBOX, "& SLOT;\n  }\n\n  /// Return", "& 1;\n  }\n\n  /// Return", "real_time"),
    "mailbox gives values twice": (
        MAILBOX,
        "if ((exchanged_.load(std::memory_order_relaxed) & NEW) == 0)",
        "if (false)",
        "real_time",
    ),
}
"""File, what stands there, the fault instead, and the test program that has to fail."""


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(tmp_path, fault):
    file, text, instead, test = FAULTS[fault]
    shutil.copytree(SOURCE, tmp_path / "source")
    path = tmp_path / "source" / file
    content = path.read_text()
    assert text in content
    path.write_text(content.replace(text, instead))
    compiler = ["c++", "-std=c++17", "-O1", "-I", "include", "-pthread", f"test/test_{test}.cpp", "-o", "program"]
    code, said = run(*compiler, directory=tmp_path / "source")
    assert code == 0, said
    code, said = run("./program", directory=tmp_path / "source")
    assert code != 0 and "not so" in said, said


def test_the_plugin_is_the_one_of_the_controllers():
    """Names in the description of the plug-in, in the class and in the parameters fit each other."""
    (kind,) = ElementTree.parse(SOURCE / "impact_guard.xml").iter("class")
    assert kind.get("name") == "impact_guard/ImpactGuard"
    assert kind.get("base_class_type") == "controller_interface::ControllerInterface"
    text = (SOURCE / "src" / "impact_guard.cpp").read_text()
    assert f"PLUGINLIB_EXPORT_CLASS({kind.get('type')}, {kind.get('base_class_type')})" in text
