"""The view in a real browser: while a task runs, afterwards, and of a recording; and a run whose view is killed.

The browser draws without a graphics card, so that everything takes its time here.
"""

from __future__ import annotations

import io
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from browser import Browser

pytestmark = pytest.mark.timeout(900)

SIZE = (1400, 800)
PATIENCE = 300.0
"""[s] for what the browser has to draw before."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Command:
    """`impact-control` with its view, in a process of its own."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.port = free_port()
        self._log = (directory / "command.log").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "impact_control.cli.main", *arguments, "--view", "--port", str(self.port)],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.end()
        self._log.close()

    @property
    def url(self):
        return f"http://localhost:{self.port}"

    @property
    def said(self):
        self._log.seek(0)
        return self._log.read()

    def wait_for(self, text, patience=PATIENCE):
        end = time.monotonic() + patience
        while text not in self.said:
            assert self.process.poll() is None and time.monotonic() < end, f"{text!r} not in: {self.said}"
            time.sleep(0.1)

    def end(self):
        """End it as Ctrl-C does; return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(60.0)


def mode(browser):
    """What the panel says the mode is."""
    found = re.search(r"Mode\s+(\w[\w ]*)", browser.text)
    return found.group(1) if found else ""


def button(text):
    return lambda browser: text in browser.ask("[...document.querySelectorAll('button')].map(b => b.innerText.trim())")


def looks_like_a_table_with_an_arm(picture):
    """Whether the middle of the page has enough of the colours of the table, the arm and the red of the force."""
    image = imread(io.BytesIO(picture))[:, 340:960, :3]
    red, green, blue = (image[..., k] for k in range(3))
    wood = (red - blue > 0.08) & (red - blue < 0.35) & (red >= green) & (green >= blue)
    gray = (np.ptp(image, axis=-1) < 0.05) & (image.mean(axis=-1) > 0.35) & (image.mean(axis=-1) < 0.85)
    force = (red - green > 0.25) & (red - blue > 0.25)
    return wood.mean() > 0.05 and gray.mean() > 0.03 and force.sum() > 50


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


def test_a_run_is_seen_while_it_goes_on_and_can_be_looked_at_again(runs, tmp_path):
    with (
        Command(tmp_path, "demo", "--lockstep", "--wait", "120", "--output", str(runs)) as demo,
        Browser(tmp_path, SIZE) as browser,
    ):
        demo.wait_for("waiting for a browser")
        browser.open(demo.url)
        demo.wait_for("ante")
        seen = set()
        while "To look at again" not in demo.said:
            assert demo.process.poll() is None, demo.said
            seen.add(mode(browser))
            time.sleep(0.05)
        assert seen & {"ante", "interim", "post"}, seen
        assert "Task: succeeded" in demo.said and "Lost:" not in demo.said
        browser.open(demo.url)
        browser.wait_for(button("Show the impact"), PATIENCE)
        browser.wait_for(lambda page: re.search(r"After it\s+expected", page.text), PATIENCE)
        browser.wait_for(lambda page: re.search(r"Contact force\s+\d+ N, peak \d{3,} N", page.text), PATIENCE)
        assert re.search(r"Impacts\s+1", browser.text)
        assert browser.ask("document.querySelectorAll('.uplot canvas').length") == 3
        # The scene fades in, slowly on a machine without a graphics card.
        browser.wait_for(lambda page: looks_like_a_table_with_an_arm(page.picture()), PATIENCE)
        Path(os.environ.get("PICTURE", tmp_path / "live_view.png")).write_bytes(browser.picture())
        assert not browser.messages
        assert demo.end() == 0


def test_a_recording_is_played_paused_and_shown_at_the_impact(runs, tmp_path):
    (run,) = runs.iterdir()
    with Command(tmp_path, "replay", str(run)) as replay, Browser(tmp_path, SIZE) as browser:
        replay.wait_for("To look at again")
        assert "AS RECORDED" in replay.said
        browser.open(replay.url)
        browser.wait_for(button("Show the impact"), PATIENCE)
        browser.wait_for(button("Play"), PATIENCE)  # it came to its end
        browser.click("Show the impact")
        browser.wait_for(button("Pause"), PATIENCE)
        assert "1/100" in browser.ask("[...document.querySelectorAll('input')].map(i => i.value)")
        browser.wait_for(lambda page: re.search(r"Impacts\s+0", page.text), PATIENCE)
        browser.wait_for(lambda page: re.search(r"Impacts\s+1", page.text), PATIENCE)
        browser.click("Pause")
        browser.wait_for(button("Play"), PATIENCE)
        assert replay.end() == 0


def test_a_view_that_is_killed_ends_nothing(tmp_path):
    with Command(tmp_path, "demo", "--lockstep", "--wait", "0", "--output", str(tmp_path / "runs")) as demo:
        demo.wait_for("ante")
        os.kill(child(demo.process.pid, "impact_control_ros.nodes.viewer"), signal.SIGKILL)
        demo.wait_for("To look at again")
        assert "Task: succeeded" in demo.said
        assert "Lost:   node 'viewer' was killed by SIGKILL; the task went on without it" in demo.said
        assert demo.end() == 0


def child(parent, module):
    """Return the process id of the child that runs a module."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command, status = (entry / "cmdline").read_bytes(), (entry / "status").read_text()
        except OSError:
            continue
        if module.encode() in command and f"PPid:\t{parent}\n" in status:
            return int(entry.name)
    raise LookupError(module)
