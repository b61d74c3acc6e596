"""The security policy: what each process of the graph may do, and the keys made from it."""

from __future__ import annotations

import functools
import sys
import time
from fnmatch import fnmatchcase
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from impact_control.cli.main import app
from impact_control.scenario import config_directory, load_scenario, parts_of
from impact_control.util.errors import InvalidInputError, MissingDependencyError
from impact_control_ros.bridge import topics
from impact_control_ros.bridge.settings import Shape
from impact_control_ros.session import security
from impact_control_ros.session.graph import describe_graph
from impact_control_ros.session.interfaces import enclaves, resolve
from impact_control_ros.session.security import make_keystore

SCHEMA = {
    None: {"policy": {"version"}},
    "policy": {"enclaves": set()},
    "enclaves": {"enclave": {"path"}},
    "enclave": {"profiles": set()},
    "profiles": {"profile": {"ns", "node"}},
    "profile": {"topics": {"publish", "subscribe"}, "services": {"reply", "request"}, "actions": {"call", "execute"}},
    "topics": {"topic": set()},
    "services": {"service": set()},
    "actions": {"action": set()},
}
"""Of `policy.xsd` of sros2 0.13: below each element the elements that may stand there, with their attributes."""

SCENE = "grab_juice_1"

graph_policy = functools.cache(security.graph_policy)


@functools.cache
def scene_policy(namespace=""):
    return graph_policy(SCENE, namespace=namespace, **parts_of(load_scenario(SCENE)))


def allowed(policy):
    """Return the rights of each enclave: {enclave: {(attribute, name from the root on)}}."""
    rules = {}
    for enclave in ElementTree.fromstring(policy).iterfind("enclaves/enclave"):
        rules[enclave.get("path")] = {
            (attribute, resolve(name.text, profile.get("ns"), profile.get("node")))
            for profile in enclave.iterfind("profiles/profile")
            for rule in profile
            for attribute in rule.attrib
            for name in rule
        }
    return rules


def with_right(policy, attribute, name):
    """The enclaves that may do that with that name."""
    return {path for path, rules in allowed(policy).items() if (attribute, name) in rules}


def check(element, parent=None):
    """Hold an element against the schema."""
    attributes = SCHEMA[parent][element.tag]
    needed = set() if parent == "profile" else attributes
    assert needed <= element.attrib.keys() <= attributes, element.attrib
    if parent == "profile":
        assert set(element.attrib.values()) == {"ALLOW"}
    children = [child for child in element if child.tag is not ElementTree.Comment]
    assert bool(children) == (element.tag in SCHEMA), element.tag
    for child in children:
        check(child, element.tag)


def test_the_file_that_comes_along_is_that_of_the_graph():
    assert (config_directory() / "security" / "policy.xml").read_text() == graph_policy()


@pytest.mark.parametrize("policy_of", [graph_policy, scene_policy])
@pytest.mark.parametrize("namespace", ["", "left"])
def test_it_is_a_policy_of_sros2(policy_of, namespace):
    root = ElementTree.fromstring(policy_of(namespace=namespace))
    check(root)
    assert root.get("version") == "0.2.0"


@pytest.mark.parametrize("shape", Shape)
def test_every_process_has_an_enclave_of_its_own(shape):
    paths = [spec.enclave() for spec in describe_graph("tabletop", shape=shape)]
    assert len(set(paths)) == len(paths)
    assert {*paths, "/operator"} <= allowed(graph_policy()).keys()


def test_only_the_controller_commands_the_arm_and_only_the_simulator_moves_it():
    policy = graph_policy()
    assert with_right(policy, "publish", f"/{topics.COMMANDS}") == {"/impact_loop", "/controller"}
    assert with_right(policy, "publish", f"/{topics.JOINT_STATES}") == {"/simulator"}
    assert with_right(policy, "execute", f"/{topics.EXECUTE}") == {"/impact_loop", "/controller"}
    assert with_right(policy, "call", f"/{topics.EXECUTE}") == {"/operator"}
    assert with_right(policy, "request", "/impact_loop/change_state") == {"/operator"}


def test_the_operator_publishes_nothing_to_the_graph():
    published = {name for attribute, name in allowed(graph_policy())["/operator"] if attribute == "publish"}
    assert published == {"/rosout", "/parameter_events"}


def test_wildcards_are_for_the_nodes_of_the_operator_only():
    for path, rules in allowed(graph_policy()).items():
        for attribute, name in rules:
            assert "*" not in name or (path == "/operator" and attribute == "reply"), name
    owned = [name for attribute, name in allowed(graph_policy())["/operator"] if attribute == "reply"]
    assert any(fnmatchcase("/session_42/get_type_description", name) for name in owned)
    assert not any(fnmatchcase("/impact_loop/get_parameters", name) for name in owned)


def test_what_one_may_request_another_serves():
    for policy in (graph_policy(), scene_policy()):
        rules = set().union(*allowed(policy).values())
        for asks, serves in (("request", "reply"), ("call", "execute"), ("subscribe", "publish")):
            wanted = {name for attribute, name in rules if attribute == asks}
            # The predictor of a scenario is not part of a scene; its client is part of every loop, and every recorder
            # keeps what it has learned. The guard is in a controller manager, which is not of this graph.
            assert {n for n in wanted if not n.endswith((topics.PREDICT, topics.BELIEF, topics.GUARD))} <= {
                n for a, n in rules if a == serves
            }


def test_in_a_namespace_nothing_outside_of_it_is_allowed():
    shared = {"/diagnostics", "/rosout", "/parameter_events"}
    for path, rules in allowed(graph_policy(namespace="/cell/left/")).items():
        assert path.startswith("/cell/left/")
        for _, name in rules:
            assert name.startswith(("/cell/left/", "/launch_ros_*/", "/_ros2cli_*/")) or name in shared, name


def test_arms_of_a_scene_hear_of_each_other_and_command_themselves():
    arms = parts_of(load_scenario(SCENE))["arms"]
    assert len(arms) == 2
    for arm, other in (arms, arms[::-1]):
        rules = allowed(scene_policy())[f"/{arm}/impact_loop"]
        assert ("subscribe", f"/{other}/{topics.EVENTS}") in rules
        assert ("publish", f"/{arm}/{topics.COMMANDS}") in rules
        assert ("publish", f"/{other}/{topics.COMMANDS}") not in rules
    objects = parts_of(load_scenario(SCENE))["objects"]
    assert all(("subscribe", f"/{topics.OBJECTS}/{name}") in allowed(scene_policy())["/recorder"] for name in objects)


def test_without_lockstep_the_simulator_takes_commands_only():
    (node,) = enclaves(describe_graph("tabletop"))["/simulator"]
    assert node.interfaces.subscribes == (topics.COMMANDS,)


@pytest.mark.parametrize("namespace", ["le ft", "left//*", "1st", "left;", "*"])
def test_a_wrong_namespace_is_refused(namespace):
    with pytest.raises(InvalidInputError, match="namespace"):
        graph_policy(namespace=namespace)


def test_a_long_wrong_namespace_is_refused_at_once():
    begin = time.process_time()
    for wrong in ("a" * 40 + "!", "/a" * 5000 + "!", "a" * 100_000 + "!"):
        with pytest.raises(InvalidInputError, match="namespace"):
            graph_policy(namespace=wrong)
    assert time.process_time() - begin < 2.0


def test_the_command_prints_the_policy_of_a_scenario_scene_or_namespace():
    def printed(*arguments):
        return CliRunner().invoke(app, ["security", *arguments], catch_exceptions=False).stdout

    assert printed() == graph_policy()
    assert printed("--namespace", "left") == graph_policy(namespace="left")
    assert printed("--scenario", SCENE) == scene_policy()


def test_a_policy_of_ones_own_needs_a_place_for_its_keys():
    with pytest.raises(InvalidInputError, match=r"policy = 'nothing\.xml'.*directory for the keys"):
        CliRunner().invoke(app, ["security", "--policy", "nothing.xml"], catch_exceptions=False)


def test_without_sros2_the_way_to_it_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sros2", None)
    with pytest.raises(MissingDependencyError, match="ros-jazzy-sros2"):
        make_keystore(tmp_path / "keys", Path("policy.xml"))
    assert not (tmp_path / "keys").exists()


class TestWithSros2:
    """Skip where sros2 is not installed."""

    @pytest.fixture(autouse=True)
    def _sros2(self, monkeypatch):
        pytest.importorskip("sros2.keystore", reason="sros2 comes with a ROS installation")
        monkeypatch.setenv("ROS_DOMAIN_ID", "7")

    @pytest.fixture(params=[graph_policy, scene_policy], ids=["scenario", "scene"])
    def policy(self, request, tmp_path):
        file = tmp_path / "policy.xml"
        file.write_text(request.param(namespace="cell"))
        return file

    def test_permissions_allow_what_the_policy_does(self, policy, tmp_path):
        keystore = tmp_path / "keys"
        paths = make_keystore(keystore, policy)
        rules = allowed(policy.read_text())
        assert set(paths) == rules.keys()
        assert keystore.stat().st_mode & 0o077 == 0
        for path in paths:
            directory = keystore / "enclaves" / path[1:]
            assert {"cert.pem", "key.pem", "governance.p7s", "permissions.p7s"} <= {f.name for f in directory.iterdir()}
            grant = ElementTree.parse(directory / "permissions.xml").find("permissions/grant")
            assert grant.findtext("subject_name") == f"CN={path}"
            assert grant.findtext("default") == "DENY"
            assert {each.text for each in grant.iter("id")} == {"7"}
            assert {
                (way, topic.text)
                for way in ("publish", "subscribe")
                for topic in grant.iterfind(f"allow_rule/{way}/topics/topic")
            } - {(way, "ros_discovery_info") for way in ("publish", "subscribe")} == set(dds(rules[path]))

    def test_keys_of_before_are_kept(self, policy, tmp_path):
        path = make_keystore(tmp_path / "keys", policy)[0]
        key = tmp_path / "keys" / "enclaves" / path[1:] / "key.pem"
        before = key.read_bytes()
        make_keystore(tmp_path / "keys", policy)
        assert key.read_bytes() == before

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda policy: "no policy",
            lambda policy: "<policy/>",
            lambda policy: policy.replace("ALLOW", "PERHAPS", 1),
            lambda policy: policy.replace('version="0.2.0"', 'version="9"'),
            lambda policy: policy.replace('path="/detector"', 'path="de tector"'),
        ],
        ids=["text", "empty", "qualifier", "version", "name"],
    )
    def test_a_wrong_policy_is_refused(self, tmp_path, spoil):
        file = tmp_path / "policy.xml"
        file.write_text(spoil(graph_policy()))
        with pytest.raises(InvalidInputError, match=r"policy\.xml"):
            make_keystore(tmp_path / "keys", file)

    def test_a_policy_that_is_not_there_is_refused(self, tmp_path):
        with pytest.raises(InvalidInputError, match=r"none\.xml"):
            make_keystore(tmp_path / "keys", tmp_path / "none.xml")

    def test_a_place_with_other_files_is_refused(self, policy, tmp_path):
        with pytest.raises(InvalidInputError, match="keystore"):
            make_keystore(tmp_path, policy)
        with pytest.raises(InvalidInputError, match="keystore"):
            make_keystore(policy, policy)


def dds(rules):
    """The names of topics in DDS that rules come to."""
    ways = {"publish": "subscribe", "subscribe": "publish"}
    for attribute, name in rules:
        if attribute in ways:
            yield attribute, f"rt{name}"
        elif attribute in ("reply", "request"):
            yield from service(name, attribute)
        else:
            side, way = ("reply", "publish") if attribute == "execute" else ("request", "subscribe")
            for call in ("send_goal", "cancel_goal", "get_result"):
                yield from service(f"{name}/_action/{call}", side)
            for topic in ("feedback", "status"):
                yield way, f"rt{name}/_action/{topic}"


def service(name, side):
    """The two topics of a service, as the server or a client uses them."""
    asked, answered = f"rq{name}Request", f"rr{name}Reply"
    return (
        [("publish", asked), ("subscribe", answered)]
        if side == "request"
        else [("publish", answered), ("subscribe", asked)]
    )
