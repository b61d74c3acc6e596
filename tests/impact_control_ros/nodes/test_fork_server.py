"""The process that nodes are forked from: what it passes on, what it reports, how it ends."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from harness import until
from impact_control_ros.session import fork_server
from impact_control_ros.session.fork_server import ForkServer, ForkServerError
from process_table import alive

WITNESS = """
import json, os, sys, time

def main():
    print(json.dumps([sys.argv[1:], os.getcwd(), os.environ.get("SAID"), os.environ.get("UNSAID")]), flush=True)
    if "wait" in sys.argv:
        time.sleep(60.0)
    return 3
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server that finds the module `witness`."""
    path = tmp_path_factory.mktemp("modules")
    (path / "witness.py").write_text(WITNESS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(path), prepend=os.pathsep)
        patch.setenv("UNSAID", "in the environment of the server")
        server = ForkServer()
    yield server
    server.close()


@pytest.fixture
def log(tmp_path):
    """A file for the output of a node."""
    with (tmp_path / "log").open("ab") as file:
        yield file


def ended(node):
    until(lambda: node.poll() is not None, "the end of the node")
    return node.poll()


def begun(log):
    until(lambda: Path(log.name).read_text().endswith("\n"), "the begin of the node")
    return Path(log.name).read_text()


def test_a_node_has_arguments_directory_environment_and_output_of_its_own(server, log, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    node = server.fork("witness", ["a b", "ü"], log, {**os.environ, "SAID": "two\nlines"})
    assert ended(node) == 3
    assert json.loads(begun(log)) == [["a b", "ü"], str(tmp_path), "two\nlines", None]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_signal_that_ended_a_node_is_reported(server, log, number):
    node = server.fork("witness", ["wait"], log, os.environ)
    begun(log)
    assert node.poll() is None
    os.kill(node.pid, number)
    assert ended(node) == -number
    node.kill()  # of what has ended: without effect


def test_a_node_that_cannot_be_imported_says_so_in_its_log(server, log):
    assert ended(server.fork("no_such_module", [], log, os.environ)) == 1
    assert "ModuleNotFoundError: No module named 'no_such_module'" in begun(log)


def test_a_signal_to_a_node_whose_end_its_server_has_not_yet_reported_has_no_effect(server, log, monkeypatch):
    node = server.fork("witness", [], log, os.environ)
    assert ended(node) == 3
    monkeypatch.setattr(server, "exit_code", lambda pid: None)
    node.send_signal(signal.SIGTERM)
    node.kill()


def test_nodes_end_with_the_server_and_the_next_has_a_new_one(server, log, monkeypatch):
    monkeypatch.setattr(fork_server, "_servers", [server])
    node = fork_server.server().fork("witness", ["wait"], log, os.environ)
    begun(log)
    os.kill(server._process.pid, signal.SIGKILL)
    assert ended(node) == -signal.SIGTERM
    until(lambda: not alive(node.pid), "the end of a node without its server")
    assert ended(fork_server.server().fork("impact_control_ros.bridge.settings", [], log, os.environ)) == 1
    (new,) = fork_server._servers
    assert new is not server
    new.close()


def test_a_server_that_cannot_load_the_nodes_gives_the_reason(tmp_path, log, monkeypatch):
    (tmp_path / "pinocchio.py").write_text("raise ImportError('this pinocchio is broken')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(fork_server, "_servers", [])
    reason = "^no node can be started: ImportError: this pinocchio is broken$"
    with pytest.raises(ForkServerError, match=reason):
        fork_server.server().fork("impact_control_ros.nodes.supervisor", [], log, os.environ)
    # Another attempt begins anew.
    with pytest.raises(ForkServerError, match=reason):
        until(lambda: fork_server.server().ready())
