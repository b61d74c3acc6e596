"""The signals and the slow motion of a report in a real browser, from its file and without a network."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

from browser import Browser
from impact_control.cli.main import app
from recorded_courses import write_bag

pytestmark = pytest.mark.timeout(900)

CLOCK = "document.getElementById('run-clock').innerText"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    directory = tmp_path_factory.mktemp("report")
    CliRunner().invoke(app, ["report", str(write_bag(directory)), "-o", str(directory)])
    return (directory / "report.html").as_uri()


def milliseconds(browser):
    """Time of the arm after the impact."""
    number, side = re.match(r"([\d.]+) ms (before|after)", browser.ask(CLOCK)).groups()
    return float(number) if side == "after" else -float(number)


def stage(browser):
    """The picture of the arm, (rows, columns, 3)."""
    place = browser.ask(
        "(() => { const r = document.querySelector('#run-stage').getBoundingClientRect();"
        " return [r.x, r.y, r.right, r.bottom].map(Math.round); })()"
    )
    left, top, right, bottom = place
    return imread(io.BytesIO(browser.picture()))[max(top, 0) : bottom, left:right, :3]


def test_plots_zoom_together_and_the_arm_follows_play_and_cursor(report, tmp_path):
    with Browser(tmp_path, (1100, 900)) as browser:
        browser.open(report)
        browser.wait_for("after the impact")
        browser.ask("document.getElementById('run').scrollIntoView()")
        charts = browser.ask("document.querySelectorAll('#run-plots .uplot canvas').length")
        assert charts == 2  # nothing else is in this bag
        browser.click("Around the impact")
        browser.wait_for("20.0 ms before the impact")
        start = stage(browser)
        browser.click("Play")
        browser.wait_for(lambda page: milliseconds(page) > 5.0, 60.0)
        browser.click("Pause")
        assert np.mean(np.abs(stage(browser) - start) > 0.1) > 2e-4
        x, y = browser.ask(
            "(() => { const o = document.querySelector('#run-plots .u-over'); o.scrollIntoView({block: 'center'});"
            " const r = o.getBoundingClientRect(); return [r.x + 0.6 * r.width, r.y + 0.5 * r.height]; })()"
        )
        for shift in (0, 1):
            browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + shift, y=y)
        browser.wait_for(lambda page: abs(milliseconds(page) - 40.0) < 2.0)
        legends = browser.ask(
            "[...document.querySelectorAll('#run-plots .u-legend')].map(l => l.querySelector('.u-value').innerText)"
        )
        assert len(set(legends)) == 1 and "40." in legends[0], legends
        browser.click("Whole run")
        joint = json.dumps("joint 2")
        browser.ask(
            f"[...document.querySelectorAll('#run-joints label')].find(l => l.innerText.trim() === {joint}).click()"
        )
        off = browser.ask("[...document.querySelectorAll('#run-plots .u-legend .u-off')].map(e => e.innerText)")
        assert off and all(entry.startswith("joint 2") for entry in off)
        assert not browser.messages


def test_the_page_is_dark_where_the_reader_wants_it_but_not_on_paper(report, tmp_path):
    with Browser(tmp_path, (1100, 900)) as browser:
        browser.open(report)
        browser.wait_for("after the impact")

        def shown(media, scheme):
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            browser.call("Emulation.setEmulatedMedia", media=media, features=features)
            return imread(io.BytesIO(browser.picture()))[:, :, :3].mean()

        assert shown("screen", "dark") < 0.25
        assert shown("print", "dark") > 0.9
        assert shown("screen", "light") > 0.9
        assert not browser.messages
