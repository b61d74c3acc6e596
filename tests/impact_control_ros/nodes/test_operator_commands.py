"""`impact-control stop` and `reset`, before somebody who offers both services beside other arms."""

from __future__ import annotations

import subprocess
import sys

import pytest
from std_srvs.srv import Trigger

from harness import Peer


@pytest.fixture
def supervisor(tmp_path):
    """Services of the arm `left` and of one without a name, and who was asked for what."""
    asked = []

    def answer(where, what):
        def called(request, response):
            asked.append((where, what))
            response.success, response.message = True, f"{what} of {where}"
            return response

        return called

    with Peer(tmp_path, namespace="left") as peer:
        for where, prefix in (("left", ""), ("elsewhere", "/")):
            for what in ("stop", "reset"):
                peer.node.create_service(Trigger, f"{prefix}supervisor/{what}", answer(where, what))
        yield peer, asked


@pytest.mark.parametrize("what", ["stop", "reset"])
def test_they_ask_the_supervisor_of_the_namespace_for_what_they_say(supervisor, what):
    peer, asked = supervisor
    command = [sys.executable, "-m", "impact_control.cli.main", what, "--namespace", "left"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peer.until(lambda: process.poll() is not None, patience=60.0, what="the end of the command")
    assert process.returncode == 0
    assert process.stdout.read() == f"{what} of left\n"
    assert set(asked) == {("left", what)}
