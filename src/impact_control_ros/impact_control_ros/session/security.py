"""SROS 2 for the graph: a policy that allows each process what it uses, and the keys and permissions from it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from impact_control.util.errors import InvalidInputError, MissingDependencyError
from impact_control_ros.bridge.settings import Shape
from impact_control_ros.session.graph import ALONE, View, describe_graph, require_namespace
from impact_control_ros.session.interfaces import Interfaces, Profile, enclaves

VERSION = "0.2.0"
"""Version of the policy's schema, `policy.xsd` of sros2."""

RULES = (
    ("topics", "topic", "publish", "publishes"),
    ("topics", "topic", "subscribe", "subscribes"),
    ("services", "service", "reply", "serves"),
    ("services", "service", "request", "requests"),
    ("actions", "action", "execute", "executes"),
    ("actions", "action", "call", "calls"),
)
"""Element of a policy, of each name in it, its attribute, and where the names stand in `Interfaces`."""


def graph_policy(
    scenario: str = "tabletop", *, namespace: str = "", arms: Sequence[str] = ALONE, objects: Sequence[str] = ()
) -> str:
    """Return the policy of a scenario's graph with simulator and recorder, of all its shapes, as XML.

    scenario: name or path. namespace: of the graph. arms, objects: of a scene. Raises InvalidInputError.
    """
    require_namespace(namespace)
    # In lockstep a node may use more, without there are more nodes.
    kinds = itertools.product((False, True), Shape)
    graphs = (describe_graph(scenario, arms=arms, shape=shape, lockstep=step, view=View()) for step, shape in kinds)
    specs = [spec for graph in graphs for spec in graph]
    return policy_text(enclaves(specs, namespace=namespace, objects=objects))


def policy_text(allowed: Mapping[str, Sequence[Profile]]) -> str:
    """Return the policy that allows the nodes of each enclave what they use, in the schema of sros2."""
    policy = ElementTree.Element("policy", version=VERSION)
    policy.append(ElementTree.Comment(" Made by `impact-control security`; see docs/network.md. "))
    found = ElementTree.SubElement(policy, "enclaves")
    for path, nodes in allowed.items():
        profiles = ElementTree.SubElement(ElementTree.SubElement(found, "enclave", path=path), "profiles")
        for node in nodes:
            profile = ElementTree.SubElement(profiles, "profile", ns=node.namespace, node=node.name)
            _allow(profile, node.interfaces)
    ElementTree.indent(policy)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(policy, encoding="unicode")}\n'


def _allow(profile: ElementTree.Element, interfaces: Interfaces) -> None:
    for element, each, attribute, kind in RULES:
        names = getattr(interfaces, kind)
        if names:
            rule = ElementTree.SubElement(profile, element, {attribute: "ALLOW"})
            for name in names:
                ElementTree.SubElement(rule, each).text = name


def make_keystore(keystore: Path, policy: Path) -> list[str]:
    """Make keys and signed permissions for each enclave of a policy; return the enclaves.

    keystore: a new or empty directory, which only its owner may enter then, or a keystore of before, whose keys are
    kept. policy: a file. Permissions hold in the ROS domain that is set now. Raises MissingDependencyError where sros2
    is not installed, InvalidInputError for a policy or a place that is of no use.
    """
    try:
        from lxml.etree import LxmlError
        from sros2.errors import SROS2Error
        from sros2.keystore import create_enclave, create_keystore, create_permission, is_valid_keystore
        from sros2.policy import load_policy
    except ImportError as error:
        words = f"sros2 is missing, it comes with a ROS 2 installation (apt-get install ros-jazzy-sros2): {error}"
        raise MissingDependencyError(words) from error
    try:
        paths = [str(enclave.get("path")) for enclave in load_policy(policy).iterfind("enclaves/enclave")]
    except (LxmlError, RuntimeError, OSError) as error:
        raise InvalidInputError("policy", policy, f"a policy of sros2: {error}") from error
    if not is_valid_keystore(keystore):
        if keystore.exists() and (not keystore.is_dir() or any(keystore.iterdir())):
            raise InvalidInputError("keystore", keystore, "a new or empty directory, or a keystore")
        keystore.mkdir(parents=True, exist_ok=True)
        keystore.chmod(0o700)
        create_keystore(keystore)
    try:
        for path in paths:
            create_enclave(keystore, path)
            create_permission(keystore, path, policy)
    except SROS2Error as error:
        raise InvalidInputError("policy", policy, f"enclaves that sros2 accepts: {error}") from error
    return paths
