"""Report and table: complete, self-contained, readable, and honest about bad runs."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.image import imread

from documentation import ROOT, blocks
from impact_control.control import Mode
from impact_control.recording.analysis import analyse
from impact_control.recording.measures import CommandLimits, ModeInterval, Verdict
from impact_control.recording.motion_figures import Envelope, RunData, velocity_error
from impact_control.recording.page import summary_text
from impact_control.recording.report import FIGURES, FIGURES_DIRECTORY, REPORT_FILE, write_report
from impact_control.recording.series import Recording, read_bag
from impact_control.recording.style import MODE_COLOURS, impact_names
from impact_control.recording.summary import (
    Grid,
    Mark,
    PostImpactComparison,
    Row,
    RunSummary,
    short_joint_names,
    summarise,
)
from impact_control.util.errors import InvalidInputError
from impact_control.util.words import in_words
from recording_samples import TORQUE_LIMITS, SampleRun, write_run

LIMITS = CommandLimits(TORQUE_LIMITS, np.full(7, 1000.0))
VOID = {"meta", "img", "br", "link"}


class Page(HTMLParser):
    """Checks that tags are balanced and gathers what the page shows."""

    def __init__(self, text):
        super().__init__()
        self.open: list[str] = []
        self.images: list[bytes] = []
        self.cells: list[str] = []
        self.bold: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.links += [values[name] or "" for name in ("src", "href") if name in values]
        if tag == "img":
            self.images.append(base64.b64decode((values["src"] or "").removeprefix("data:image/png;base64,")))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open:
            self.cells.append(data)
        if "b" in self.open:
            self.bold.append(data)


@pytest.fixture(scope="module")
def recording(prefix, tmp_path_factory):
    directory = tmp_path_factory.mktemp("report") / "run"
    write_run(directory, prefix, SampleRun(duration=0.9, rate=250))
    return read_bag(directory)


@pytest.fixture(scope="module")
def analysis(recording):
    return replace(analyse(recording, limits=LIMITS), final_speed=0.004)


@pytest.fixture(scope="module")
def comparison(analysis):
    ante, gross = np.rad2deg([analysis.ante_velocity, analysis.gross_post_velocity])
    predictions = {"M": 1.5 * gross, "M + B_theta": 1.1 * gross, "M + B_rho": 0.2 * gross}
    slips = {"M": "sticks", "M + B_theta": "slips", "M + B_rho": "slips"}
    return PostImpactComparison(analysis.joint_names, ante, gross, predictions, slips)


@pytest.fixture(scope="module")
def envelope(recording):
    time = recording.series("joint_states")["stamp"]
    bound = np.full((len(time), 7), 0.2)
    return Envelope(time, -bound, bound, np.full_like(bound, 0.05))


@pytest.fixture(scope="module")
def report(
    recording,
    analysis,
    comparison,
    envelope,
    tmp_path_factory,
):
    output = tmp_path_factory.mktemp("output") / "report"
    return output, write_report(RunData(recording, analysis, comparison, envelope), output)


def test_page_holds_every_figure_and_needs_no_other_file(report):
    output, _ = report
    page = Page((output / REPORT_FILE).read_text(encoding="utf-8"))
    files = {path.stem: path.read_bytes() for path in (output / FIGURES_DIRECTORY).iterdir()}
    assert set(files) == {entry.name for entry in FIGURES}
    assert page.images == [files[entry.name] for entry in FIGURES]
    assert all(link.startswith("data:") for link in page.links)


def test_figures_are_sharp_and_not_empty(report):
    for path in (report[0] / FIGURES_DIRECTORY).iterdir():
        pixels = imread(path)[..., :3]
        assert pixels.shape[1] == 1500
        assert pixels.std() > 0.05
        edge = pixels[:, [0, -1]]
        assert (edge == 1.0).all(), f"{path.name} is cut at its side"


def test_summary_is_the_table_of_the_page(report):
    output, summary = report
    page = Page((output / REPORT_FILE).read_text(encoding="utf-8"))
    for row in summary.rows:
        assert row.value in page.cells
    assert "sticks (M), slips (M + B_theta, M + B_rho)" in page.cells
    assert summary.good
    assert summary.verdict.startswith("AS EXPECTED: impact detected 3.6 ms after contact")


def test_best_prediction_is_bold(report, comparison):
    page = Page((report[0] / REPORT_FILE).read_text(encoding="utf-8"))
    best = comparison.errors()["M + B_theta"]
    assert page.bold == [*(f"{error:.1f}" for error in best), f"{best.mean():.2f}"]


def test_table_fits_the_terminal_and_ends_with_the_verdict(report):
    text = summary_text(report[1])
    lines = text.rstrip("\n").splitlines()
    assert max(map(len, lines)) <= 80
    ending = text[text.index("AS EXPECTED") :]
    assert " ".join(ending.split()) == report[1].verdict
    for value in ("push_on_plate", "delay 3.6 ms", "[deg/s]", "M + B_theta", "J7"):
        assert value in text
    assert "\x1b" not in text
    assert "\x1b[" in summary_text(report[1], color=True)


def numbers_hidden(text):
    """Return the lines, with digits of numbers as `0` before the point and one `0` each behind it."""
    hidden = re.sub(r"\d+(\.\d+)?", lambda number: "0" + re.sub(r"\d", "0", number[1] or ""), text)
    return [line.rstrip() for line in hidden.splitlines()]


def test_the_readme_shows_what_the_demo_prints(analysis):
    """Rows, words, decimals and line breaks between the dots; the numbers are those of another run."""
    (shown,) = (block.text for block in blocks(ROOT / "README.md") if block.language == "text")
    modes = tuple(ModeInterval(mode, 0.0, 1.0) for mode in ("idle", "ante", "interim", "post", "stopped"))
    printed = numbers_hidden(summary_text(summarise(replace(analysis, scenario="tabletop", modes=modes))))
    parts = re.split(r"^ *\.\.\.\n", shown, flags=re.MULTILINE)
    assert len(parts) == 4 and parts.pop() == ""
    for part in map(numbers_hidden, parts):
        found = [i for i in range(len(printed)) if printed[i : i + len(part)] == part]
        assert len(found) == 1, (part, printed)
        printed = printed[found[0] + len(part) :]
    assert not [line for line in printed if line]


def test_reasons_are_text_and_not_markup(recording, analysis):
    hostile = "<script>alert(1)</script> & [bold]x[/bold]"
    verdict = Verdict("unexpected", "unexpected", hostile)
    summary = summarise(replace(analysis, verdict=verdict, outcome="impact unexpected"))
    assert hostile in " ".join(summary_text(summary, width=200).split())
    assert not summary.good


MEANT = {
    "outcome": "impact unexpected",
    "expected_outcome": "impact unexpected",
    "verdict": Verdict("unexpected", "unexpected", "30 ms early"),
}


def test_a_deviation_that_the_scenario_is_meant_to_end_with_is_good(analysis):
    summary = summarise(replace(analysis, **MEANT))
    assert summary.good
    assert summary.verdict == "AS EXPECTED: impact unexpected, as this scenario is meant to end, limits kept, at rest."
    assert Row("Outcome", "impact unexpected, as meant", Mark.GOOD) in summary.rows
    assert not [row for row in summary.rows if row.mark is Mark.BAD]


FAULT = ({"outcome": "fault", "fault": "state is 12 ms old"}, "fault: state is 12 ms old")
STRONG = ({"peak_torque": np.full(7, 100.0)}, "above its limit")
MOVING = ({"final_speed": 0.3}, "still moving")


@pytest.mark.parametrize(
    ("meant", "change", "complaint"),
    [
        ({}, {"outcome": "no impact", "detections": np.empty(0), "detection_delay": None}, "no impact"),
        ({}, {"detection_delay": -0.01}, "before the contact"),
        (MEANT, {"outcome": "succeeded"}, "succeeded, meant: impact unexpected"),
        (MEANT, {"outcome_of_all": "no impact"}, "of all arms no impact"),
        *((meant, *bad) for meant in ({}, MEANT) for bad in (FAULT, STRONG, MOVING)),
    ],
)
def test_a_bad_run_is_not_called_good_nor_one_that_deviates_as_it_was_not_meant_to(analysis, meant, change, complaint):
    summary = summarise(replace(analysis, **(meant | change)))
    assert not summary.good
    assert summary.verdict.startswith("NOT AS EXPECTED")
    assert complaint in summary.verdict


def test_the_impulse_explains_the_peak_force(analysis):
    rows = summarise(replace(analysis, peak_force=9000.0, impact_impulse=1.35)).rows
    shown = next(row.value for row in rows if row.label == "Impact force")
    assert shown.startswith("impulse 1.35 Ns, the peak force for 0.15 ms: a stiff contact")


def test_the_detection_of_the_impact_is_not_that_of_a_touch_before_it(analysis):
    touched = replace(analysis, detections=np.array([0.1, 0.2, *analysis.detections]))
    row = next(row.value for row in summarise(touched).rows if row.label == "Impact")
    assert row.endswith("detected at 0.5040 s, delay 3.6 ms, 2 more detections, at 0.100, 0.200 s")
    assert touched.impact_detection == pytest.approx(analysis.detections[0])


@pytest.mark.parametrize("width", [60, 80, 200])
def test_tables_of_seven_joints_are_whole_on_narrow_terminals(analysis, comparison, width):
    text = summary_text(summarise(analysis, comparison), width)
    assert "…" not in text and max(map(len, text.splitlines())) <= width


def test_headings_and_labels_are_text_and_not_markup():
    grid = Grid("Gaps [s]", ("from [s]", "[red]length"), (("1.0", "2.0"),))
    text = summary_text(RunSummary("run", (Row("[b]label [Nm]", "x"),), (grid,), "", True))
    for shown in ("Gaps [s]", "from [s]", "[red]length", "[b]label [Nm]"):
        assert shown in text


def test_limits_are_marked(analysis):
    def mark(value):
        return next(row.mark for row in summarise(value).rows if row.label == "Peak torque rate")

    assert mark(analysis) is Mark.GOOD
    assert mark(replace(analysis, peak_torque_rate=np.full(7, 1001.0))) is Mark.BAD
    assert mark(replace(analysis, limits=None)) is Mark.PLAIN


def test_a_recording_with_little_in_it_still_gives_a_report(recording, tmp_path):
    """The robot before any impact: no truth, no events, no commands."""
    states = {"/joint_states": recording._topics["/arm/joint_states"]}
    bare = Recording(recording.directory, states, {})
    summary = write_report(RunData(bare, analyse(bare)), tmp_path)
    assert "none detected" in {row.value for row in summary.rows}
    assert {path.stem for path in (tmp_path / FIGURES_DIRECTORY).iterdir()} == {"joint_velocity", "timing"}
    Page((tmp_path / REPORT_FILE).read_text(encoding="utf-8"))


def test_velocity_error_switches_its_reference_at_the_detection(recording, analysis):
    figure = velocity_error(RunData(recording, analysis))
    run = SampleRun(duration=0.9, rate=250)
    error = max((np.asarray(line.get_xydata()) for line in figure.axes[5].lines), key=len)
    time = run.impact_time + error[:, 0] / 1e3
    reference = np.where(time[:, None] <= run.detection_time + 1e-9, run.ante_velocity(time), run.post_velocity(time))
    np.testing.assert_allclose(error[:, 1], (run.velocity(time) - reference)[:, 5], atol=1e-6)


def test_envelopes_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInputError, match="upper"):
        Envelope(np.arange(3.0), np.zeros((3, 2)), np.zeros((3, 1)), np.zeros((3, 2)))
    with pytest.raises(InvalidInputError, match="lower"):
        Envelope(np.arange(4.0), np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((3, 2)))


def test_joint_names_are_shortened_only_where_they_stay_distinct():
    assert short_joint_names(("fr3_joint1", "fr3_joint2")) == ("joint 1", "joint 2")
    assert short_joint_names(("left_joint1", "right_joint1")) == ("left_joint1", "right_joint1")
    assert short_joint_names(("hip", "knee")) == ("hip", "knee")


def test_the_modes_that_are_shaded_have_the_names_that_a_recording_gives_them():
    assert set(MODE_COLOURS) <= {in_words(mode) for mode in Mode}


def test_labels_of_impacts_close_together_are_one():
    assert impact_names([1.0], "impact", 0.2) == ["impact"]
    assert impact_names([1.0, 1.05, 1.1, 2.0], "impact", 0.2) == ["impact 1 to 3", "", "", "impact 4"]
    assert impact_names([1.0, 2.0], "detected", 0.2) == ["detected 1", "detected 2"]
