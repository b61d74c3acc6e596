"""The policy held against the running graph; and, where the installation can, the graph encrypted by it."""

from __future__ import annotations

import contextlib
import time
from fnmatch import fnmatchcase

import pytest
import rclpy
from std_msgs.msg import Float64MultiArray

from harness import Peer
from impact_control.pipeline import Outcome
from impact_control.scenario import load_scenario, parts_of
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.settings import Shape
from impact_control_ros.session.graph import describe_graph
from impact_control_ros.session.interfaces import Interfaces, enclaves
from impact_control_ros.session.processes import GraphError
from impact_control_ros.session.security import graph_policy, make_keystore
from impact_control_ros.session.session import Session

DISCOVERY = 10.0
"""[s] until everything is known everywhere."""

NOTHING_BUT = {"/parameter_events", "/rosout"}


def used(node, name, namespace):
    """Return the interfaces of a node as ROS reports them."""
    published, subscribed, served, requested = (
        {found for found, _ in getattr(node, f"get_{kind}_names_and_types_by_node")(name, namespace)}
        for kind in ("publisher", "subscriber", "service", "client")
    )
    executed = {found.split("/_action/")[0] for found in served if "/_action/" in found}
    called = {found.split("/_action/")[0] for found in requested if "/_action/" in found}
    own = [{found for found in names if "/_action/" not in found} for names in (published, subscribed)]
    services = [{found for found in names if "/_action/" not in found} for names in (served, requested)]
    return Interfaces(*(tuple(sorted(names)) for names in (*own, *services, executed, called)))


def compare(session, allowed):
    """Wait until every node uses exactly what it may, or say where they differ."""
    node = session._node
    (own,) = (path for path in allowed if path.endswith("operator"))
    nodes = {path: profile for path, (profile, *_) in allowed.items() if path != own}
    end = time.monotonic() + DISCOVERY
    differing = dict(nodes)
    while differing and time.monotonic() < end:
        session.watch(0.2)
        for path, profile in list(differing.items()):
            with contextlib.suppress(rclpy.node.NodeNameNonExistentError):
                if used(node, profile.name, profile.namespace) == profile.resolved():
                    del differing[path]
    for profile in differing.values():
        assert used(node, profile.name, profile.namespace) == profile.resolved()
    running = {
        f"{namespace.rstrip('/')}/{name}": enclave
        for name, namespace, enclave in node.get_node_names_and_namespaces_with_enclaves()
    }
    assert running.pop(node.get_fully_qualified_name()) == own
    assert running == {path: path for path in nodes}
    may = [profile.resolved() for profile in allowed[own]]
    does = used(node, node.get_name(), node.get_namespace())
    for kind in ("publishes", "subscribes", "serves", "requests", "executes", "calls"):
        patterns = {pattern for interfaces in may for pattern in getattr(interfaces, kind)}
        for name in getattr(does, kind):
            assert any(fnmatchcase(name, pattern) for pattern in patterns), (kind, name)


@pytest.mark.parametrize(
    ("shape", "namespace", "lockstep"), [(Shape.COMPOSED, "", False), (Shape.SEPARATE, "left", True)]
)
def test_every_node_uses_exactly_what_it_may(shape, namespace, lockstep, tmp_path):
    specs = describe_graph("tabletop", shape=shape, lockstep=lockstep)
    with Session(specs, tmp_path, namespace=namespace) as session:
        session.start()
        compare(session, enclaves(specs, namespace=namespace))


@pytest.mark.long
def test_every_node_of_a_scene_uses_exactly_what_it_may(tmp_path):
    parts = parts_of(load_scenario("push_catfood_1"))
    specs = describe_graph("push_catfood_1", **parts, lockstep=True)
    with Session(specs, tmp_path) as session:
        session.start()
        compare(session, enclaves(specs, objects=parts["objects"]))


def test_without_its_keys_the_session_is_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_SECURITY_ENABLE", "true")
    monkeypatch.setenv("ROS_SECURITY_STRATEGY", "Enforce")
    monkeypatch.setenv("ROS_SECURITY_KEYSTORE", str(tmp_path / "none"))
    with pytest.raises(GraphError, match=r"security is on.*/operator.*none") as refused:
        Session(describe_graph("tabletop"), tmp_path)
    assert "\n" not in str(refused.value)


@pytest.fixture
def secured(tmp_path, monkeypatch):
    """Security switched on, with keys for the graph; skipped where sros2 is missing or DDS cannot encrypt."""
    pytest.importorskip("sros2.keystore", reason="sros2 comes with a ROS installation")
    policy = tmp_path / "policy.xml"
    policy.write_text(graph_policy())
    make_keystore(tmp_path / "keys", policy)
    monkeypatch.setenv("ROS_SECURITY_KEYSTORE", str(tmp_path / "keys"))
    monkeypatch.setenv("ROS_SECURITY_ENABLE", "true")
    monkeypatch.setenv("ROS_SECURITY_STRATEGY", "Enforce")
    try:
        with joined("/operator", "session_0"):
            pass
    except RuntimeError as error:
        if "security libraries" in str(error):
            pytest.skip("this Fast DDS was built without security, as that of the Python packages is")
        raise


@contextlib.contextmanager
def joined(enclave, name):
    """A node of an enclave, as anyone with its keys could make it."""
    context = rclpy.Context()
    rclpy.init(args=["--ros-args", "--enclave", enclave], context=context)
    try:
        yield rclpy.create_node(name, context=context, start_parameter_services=False)
    finally:
        context.try_shutdown()


def test_encrypted_the_task_succeeds_and_others_neither_hear_nor_command(secured, tmp_path, monkeypatch):
    specs = describe_graph("tabletop", lockstep=True, record=False)
    with Session(specs, tmp_path / "log") as session:
        session.start()
        assert session.run_task("tabletop").outcome is Outcome.SUCCEEDED
        with joined("/predictor", "predictor") as node, pytest.raises(RuntimeError):
            node.create_publisher(Float64MultiArray, topics.COMMANDS, qos.COMMAND)
        monkeypatch.setenv("ROS_SECURITY_ENABLE", "false")
        with Peer(tmp_path / "peer") as plain:
            plain.spin(2.0)
            heard = {name for name, _ in plain.node.get_topic_names_and_types()}
            assert heard <= NOTHING_BUT
