"""Packages of messages that come with ROS installations, built here from their definitions as far as they are used."""

from __future__ import annotations

import ctypes
import fcntl
import functools
import os
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SWITCH = """
string[] activate_controllers
string[] deactivate_controllers
int32 strictness
int32 BEST_EFFORT=1
int32 STRICT=2
---
bool ok
"""
LIST = """
---
controller_manager_msgs/ControllerState[] controller
"""
CONTROLLER = """
string name
string state
"""
STATE = """
float64 control_command_success_rate
uint8 robot_mode
"""
DEFINITIONS = {
    "controller_manager_msgs": {
        "msg/ControllerState.msg": CONTROLLER,
        "srv/ListControllers.srv": LIST,
        "srv/SwitchController.srv": SWITCH,
    },
    "franka_msgs": {"msg/FrankaRobotState.msg": STATE, "action/ErrorRecovery.action": "---\n---\n"},
}
"""As far as they are used, by the definitions of ros2_control 4.46 and franka_ros2 3.4.0."""

RECIPE = """
cmake_minimum_required(VERSION 3.22)
project({package} LANGUAGES C CXX)
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
# No C++ code, which Python does not need.
list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:")
# What the generators look for themselves, before the directories are looked at.
find_package(action_msgs REQUIRED)
include({cmake}/drop_missing_includes.cmake)
drop_missing_includes()
rosidl_generate_interfaces({package} {files})
ament_package()
"""
MANIFEST = """<package format="3"><name>{package}</name><version>0.0.0</version><description>stand-in</description>
<maintainer email="nobody@impact-control.invalid">nobody</maintainer><license>Apache-2.0</license>
<buildtool_depend>ament_cmake</buildtool_depend><buildtool_depend>rosidl_default_generators</buildtool_depend>
<exec_depend>rosidl_default_runtime</exec_depend><member_of_group>rosidl_interface_packages</member_of_group>
<export><build_type>ament_cmake</build_type></export></package>"""


@functools.cache
def _installed(package):
    """Build a package once in this environment, which cannot load two of one name; return where it is installed."""
    definitions = DEFINITIONS[package]
    cmake = ROOT / "src" / "impact_msgs" / "cmake"
    recipe = RECIPE.format(package=package, files=" ".join(definitions), cmake=cmake)
    included = (cmake / "drop_missing_includes.cmake").read_text()
    place = Path(sys.prefix) / "cache" / "messages"
    prefix = place / f"{package}_{sha256(f'{recipe}{included}{definitions}'.encode()).hexdigest()[:12]}"
    place.mkdir(parents=True, exist_ok=True)
    with open(place / f"{package}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (prefix / "complete").exists():
            _build(package, definitions, recipe, prefix)
            (prefix / "complete").touch()
    return prefix


def _build(package, definitions, recipe, prefix):
    with tempfile.TemporaryDirectory(prefix=package) as directory:
        source = Path(directory)
        for file, definition in definitions.items():
            (source / file).parent.mkdir(parents=True, exist_ok=True)
            (source / file).write_text(definition)
        (source / "CMakeLists.txt").write_text(recipe)
        (source / "package.xml").write_text(MANIFEST.format(package=package))
        environment = {**os.environ, "AMENT_PREFIX_PATH": sys.prefix, "CMAKE_PREFIX_PATH": sys.prefix}
        options = [f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DPython3_EXECUTABLE={sys.executable}", "-DBUILD_TESTING=OFF"]
        options += [f"-DCMAKE_INSTALL_RPATH={prefix / 'lib'}", "-Wno-dev"]
        for command in (
            ["cmake", "-S", str(source), "-B", str(source / "build"), *options],
            ["cmake", "--build", str(source / "build"), "--parallel", str(os.cpu_count())],
            ["cmake", "--install", str(source / "build")],
        ):
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@contextmanager
def messages_of(*packages):
    """Have packages for this process and those it starts."""
    with pytest.MonkeyPatch.context() as patch:
        for prefix in map(_installed, packages):
            python = sysconfig.get_path("purelib", vars={"base": str(prefix), "platbase": str(prefix)})
            patch.setenv("PYTHONPATH", python, prepend=os.pathsep)
            patch.setenv("LD_LIBRARY_PATH", str(prefix / "lib"), prepend=os.pathsep)
            patch.setenv("AMENT_PREFIX_PATH", str(prefix), prepend=os.pathsep)
            patch.syspath_prepend(python)
            # The search path of libraries is read when a process starts; what is loaded already is found by its name.
            for library in sorted((prefix / "lib").glob("*__rosidl_typesupport_*_c.so")):
                ctypes.CDLL(str(library))
        yield
