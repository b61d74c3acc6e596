"""Launch files, executed with stand-ins for `launch` that keep what they were made with.

`launch` comes with a ROS installation only. Everything the launch files and `session.launching` take from it is
replaced, also where it is installed, so that what they make can be looked at.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import List  # noqa: UP035

import pytest

import impact_control_ros.session.occupants  # noqa: F401 (takes the real lifecycle_msgs before a stand-in is in its place)
from impact_control.util.errors import ImpactControlError

ROOT = Path(__file__).resolve().parents[2]
DIRECTORY = ROOT / "launch"
PACKAGE = ROOT / "src" / "impact_control_ros"
HELPER = "impact_control_ros.session.launching"
ROS = {"launch", "launch_ros", "lifecycle_msgs", "ament_index_python"}
CONFIGURE, ACTIVATE = 1, 3


class Kept:
    """Keeps what it was made with."""

    def __init__(self, *arguments, **keywords):
        self.arguments = arguments
        self.keywords = keywords
        for name, value in keywords.items():
            setattr(self, name, value)


class Text(str):
    """A text that a launch file marks as such; `launch_ros` takes other texts for YAML."""


def marked(value, value_type):
    """A parameter whose type is given, as `launch_ros` needs for a text, and for a list with an empty one."""
    assert value_type == (List[str] if isinstance(value, list) else str)  # noqa: UP006
    return value if isinstance(value, list) else Text(value)


class OpenModule(ModuleType):
    """A module, or package, that has every name."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Kept,), {})


class Xacro(ModuleType):
    """Keeps the files it was asked for with their arguments; a description is the name of its file."""

    def __init__(self):
        super().__init__("xacro")
        self.asked = []

    def process_file(self, path, mappings):
        self.asked.append((Path(path), mappings))
        return SimpleNamespace(toxml=lambda: f"<robot name='{mappings['name']}'/>")


def ros_modules(path):
    """The modules of ROS that a file imports at its top."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in ROS:
            yield node.module


def load(monkeypatch, name):
    """A launch file as a module, on stand-ins.

    `xacro_asked` lists the descriptions that were made, `checked` the namespaces and arms that have to be free.
    """
    path = DIRECTORY / f"{name}.launch.py"
    for file in (path, PACKAGE / PACKAGE.name / "session" / "launching.py"):
        for module in ros_modules(file):
            parts = module.split(".")
            for depth in range(1, len(parts) + 1):
                monkeypatch.setitem(sys.modules, ".".join(parts[:depth]), OpenModule(".".join(parts[:depth])))
    xacro = Xacro()
    monkeypatch.setitem(sys.modules, "xacro", xacro)
    # Made on stand-ins: afterwards nobody is to find it.
    monkeypatch.setitem(sys.modules, HELPER, None)
    del sys.modules[HELPER]
    helper = importlib.import_module(HELPER)
    helper.ParameterValue = marked
    checked = []
    helper.require_free_namespace = lambda namespace, arms: checked.append((namespace, arms))
    spec = importlib.util.spec_from_file_location(f"{name}_launch", path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    loaded.Transition = SimpleNamespace(TRANSITION_CONFIGURE=CONFIGURE, TRANSITION_ACTIVATE=ACTIVATE)
    loaded.matches_action = lambda node: node
    loaded.get_package_share_directory = lambda package: f"/share/{package}"
    loaded.xacro_asked, loaded.checked = xacro.asked, checked
    return loaded


def named(actions, kind):
    """The actions of a class of that name."""
    return [action for action in actions if type(action).__name__ == kind]


def declared(launch_file):
    """The declared arguments by name."""
    (described,) = launch_file.generate_launch_description().arguments
    return {action.arguments[0]: action for action in named(described, "DeclareLaunchArgument")}


def started(launch_file, **values):
    """Everything a launch file starts for these arguments, defaults for the others."""
    (described,) = launch_file.generate_launch_description().arguments
    (opaque,) = named(described, "OpaqueFunction")
    defaults = {name: action.default_value for name, action in declared(launch_file).items()}
    assert values.keys() <= defaults.keys()
    return opaque.function(SimpleNamespace(launch_configurations=defaults | values))


def exited(on_exit, returncode=0, shutting_down=False):
    """Return the reaction to the end of a process."""
    event = SimpleNamespace(returncode=returncode, process_name="that process")
    return on_exit(event, SimpleNamespace(is_shutdown=shutting_down))


def failure(function, *arguments, **keywords):
    """Return the reason with which a callback ends the launch: by an exception, without which its code would be 0."""
    with pytest.raises(ImpactControlError) as raised:
        function(*arguments, **keywords)
    return str(raised.value)


def handlers(actions, kind):
    """The event handlers of a class of that name."""
    found = [action.arguments[0] for action in named(actions, "RegisterEventHandler")]
    return named(found, kind)


def includes(actions):
    """The included launch files: path and arguments."""
    return [
        (Path(a.arguments[0].arguments[0]), dict(a.launch_arguments))
        for a in named(actions, "IncludeLaunchDescription")
    ]


def course(actions):
    """The processes that are started one after another by their good ends, and what comes last, from the handlers."""
    following = {id(handler.target_action): handler for handler in handlers(actions, "OnProcessExit")}
    firsts = [action for action in actions if id(action) in following]
    (first,) = firsts
    steps = [first]
    while (handler := following.get(id(steps[-1]))) is not None:
        steps.append(exited(handler.on_exit))
    return steps
