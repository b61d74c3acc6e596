"""Image and compose file: what they name is there, and the arm gets what a real-time loop needs. Not built here."""

from __future__ import annotations

import re
import shlex
from xml.etree import ElementTree

import pytest
from ruamel.yaml import YAML

from impact_control.scenario import available_scenarios
from launch_files import PACKAGE, ROOT, declared, load

DOCKER = ROOT / "docker"
SERVICES = ("sim", "mock", "gazebo", "franka")


def compose():
    return YAML(typ="safe").load(DOCKER / "compose.yaml")


def instructions():
    """The instructions of the Dockerfile, continued lines joined, as keyword and words."""
    text = re.sub(r"^#.*\n", "", (DOCKER / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [line.split() for line in text.splitlines() if line.strip()]


def test_there_is_one_service_a_profile():
    services = compose()["services"]
    assert tuple(services) == SERVICES
    assert all(service["profiles"] == [name] for name, service in services.items())
    build = services["sim"]["build"]
    assert (DOCKER / build["context"]).resolve() == ROOT and (ROOT / build["dockerfile"]).is_file()
    assert all(service["build"] == build and service["image"] for service in services.values())


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_launches_its_file_with_arguments_it_has(monkeypatch, name):
    command = compose()["services"][name]["command"]
    words = shlex.split(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", command))
    assert words[:4] == ["ros2", "launch", PACKAGE.name, f"{name}.launch.py"]
    given = dict(word.split(":=") for word in words[4:])
    arguments = declared(load(monkeypatch, name))
    assert given.keys() <= arguments.keys()
    assert given["scenario"] in available_scenarios()
    for argument, value in given.items():
        choices = getattr(arguments[argument], "choices", None)
        assert choices is None or value in choices


def test_the_loop_may_have_real_time_priority_and_keep_its_memory():
    for service in compose()["services"].values():
        assert service["cap_add"] == ["SYS_NICE"]
        assert service["ulimits"] == {"rtprio": 99, "memlock": {"soft": -1, "hard": -1}}
        assert service["network_mode"] == "host" and "privileged" not in service
        assert service["environment"]["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"


def test_everything_that_is_copied_is_there():
    copied = [
        [word for word in words[1:] if not word.startswith("--")] for words in instructions() if words[0] == "COPY"
    ]
    sources = [source for *sources, _ in copied for source in sources]
    assert {"src", "launch", "config", "docker/franka.repos"} <= set(sources)
    for source in sources:
        assert (ROOT / source).exists(), source
    # The links in the package lead to directories that are copied beside src.
    for link in PACKAGE.iterdir():
        if link.is_symlink():
            assert link.resolve().relative_to(ROOT).parts[0] in sources


def test_it_is_the_official_image_and_not_root():
    words = instructions()
    (base,) = (line[1] for line in words if line[0] == "FROM")
    assert base.startswith("ros:jazzy-ros-base")
    (user,) = (line[1] for line in words if line[0] == "USER")
    assert user not in ("root", "0")
    assert (DOCKER / "entrypoint.sh").stat().st_mode & 0o111


def test_what_is_built_from_source_is_pinned():
    repositories = YAML(typ="safe").load(DOCKER / "franka.repos")["repositories"]
    assert repositories.keys() == {"franka_ros2", "libfranka", "franka_description"}
    for repository in repositories.values():
        assert re.fullmatch(r"v?\d+\.\d+\.\d+", repository["version"])
    # The plugins that the description names come with the packages that are built.
    dockerfile = (DOCKER / "Dockerfile").read_text()
    plugins = {
        plugin.text.split("/")[0]
        for plugin in ElementTree.parse(PACKAGE / "urdf" / "ros2_control.xacro").iter("plugin")
    }
    for package in plugins:
        assert not package.startswith("franka_") or len(re.findall(rf"\b{package}\b", dockerfile)) == 2


def test_the_solver_is_the_one_of_the_lock_file():
    (pin,) = re.findall(r"pip install (daqp==[\d.]+)", (DOCKER / "Dockerfile").read_text())
    assert pin in (ROOT / "requirements" / "run.txt").read_text().split()
