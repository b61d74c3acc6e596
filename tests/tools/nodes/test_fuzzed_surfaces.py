"""A few inputs for each surface that `make fuzz` gives a hundred thousand: refused or accepted, and nothing else."""

from __future__ import annotations

import dis
import json
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from keeping import Keeper
from surfaces import SURFACES

from benchmark.check import describe_machine
from impact_control.util.stopping import StopFlag

FUZZ = Path(__file__).resolve().parents[3] / "tools" / "fuzz"
INPUTS = 25

HANG = "20"
"""[s] that an input may take."""


@pytest.mark.parametrize("surface", SURFACES)
def test_every_input_is_accepted_or_refused(surface, tmp_path):
    """In a process of its own: nodes that rclpy's cycles keep alive would be seen by the tests after it."""
    record = tmp_path / "record.json"
    command = [sys.executable, str(FUZZ / "drawn.py"), surface, str(record), str(INPUTS), "0", HANG]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert record.is_file(), ended.stdout
    told = json.loads(record.read_text())
    assert told["failures"] == 0, ended.stdout
    assert told["inputs"] >= INPUTS
    assert told["accepted"] > 0 and told["refused"] > 0
    assert told["accepted"] + told["refused"] >= INPUTS


TOO_MUCH = """
from impact_control_ros.bridge.loop_output import CommandWriter
write = CommandWriter.write
CommandWriter.write = lambda self, torque: write(self, torque + 100.0)
import drawn
drawn.PHASES = (drawn.Phase.generate,)
drawn.main()
"""


@pytest.mark.parametrize(
    "surface", ["messages", *(pytest.param(name, marks=pytest.mark.long) for name in ("actions", "parameters"))]
)
def test_a_surface_finds_a_loop_that_publishes_too_much(surface, tmp_path):
    record = tmp_path / "record.json"
    command = [sys.executable, "-c", TOO_MUCH, surface, str(record), "20", "0", HANG]
    ended = subprocess.run(command, cwd=FUZZ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert record.is_file(), ended.stdout
    assert json.loads(record.read_text())["failures"] == 1
    assert "above its limit" in ended.stdout


FUZZER = runpy.run_path(str(FUZZ / "__main__.py"), run_name="fuzz")
DRAWN = {"inputs": 100, "accepted": 40, "refused": 60, "failures": 0}
WELL = {"name": "goals", "inputs": 1000, "accepted": 1, "refused": 999, "failures": 0, "hypothesis": DRAWN}
DIED = FUZZER["broken_off"]("exit code 1")


@pytest.mark.parametrize(
    ("record", "well"),
    [
        (WELL, True),
        (WELL | {"inputs": 999}, False),
        (WELL | {"failures": 1}, False),
        (WELL | {"accepted": 0}, False),
        (WELL | {"refused": 0}, False),
        (WELL | {"hypothesis": DRAWN | {"inputs": 99}}, False),
        (WELL | {"hypothesis": DRAWN | {"failures": 1}}, False),
        (WELL | {"hypothesis": DRAWN | {"accepted": 0}}, False),
        (WELL | {"hypothesis": DRAWN | {"refused": 0}}, False),
        (WELL | {"hypothesis": DIED}, False),
        (DIED, False),
    ],
)
def test_a_surface_passed_when_both_drivers_put_in_all_inputs_of_either_kind(record, well):
    assert FUZZER["passed"](record, 1000, 100) is well


def test_the_line_of_a_surface_tells_of_both_drivers():
    told = FUZZER["line"](WELL | {"edges": 7, "seconds": 2.0, "slowest": 0.5})
    for counts in ("1000 inputs, 1 accepted, 999 refused, 0 failures", "100 inputs, 40 accepted, 60 refused, 0 fail"):
        assert counts in told
    assert "hypothesis: ended early: exit code 1" in FUZZER["line"](
        WELL | {"edges": 7, "seconds": 2.0, "slowest": 0.5, "hypothesis": DIED}
    )
    assert FUZZER["line"]({"name": "goals", **DIED}).endswith("ended early: exit code 1")


HANGING = f"""
import sys, time
sys.path.insert(0, {str(FUZZ)!r})
import drawn
class Target:
    def __call__(self, source):
        if source.integer(0, 9) > 4:
            pass_time()
        return True
    def close(self):
        pass
def pass_time():
    time.sleep(60.0)
drawn.make_target = lambda surface: Target()
drawn.main()
"""


def test_an_input_that_hangs_ends_its_surface_and_is_told(tmp_path, monkeypatch):
    (tmp_path / "drawn.py").write_text(HANGING)
    monkeypatch.setitem(FUZZER["draw"].__globals__, "HERE", tmp_path)
    monkeypatch.setenv("ROS_DOMAIN_ID", "1")
    told = FUZZER["draw"]("recordings", 100, 0, 1, tmp_path, StopFlag())
    assert told == FUZZER["broken_off"](f"an input took longer than 1 s, see {tmp_path / 'recordings.drawn.log'}")
    assert "in pass_time" in (tmp_path / "recordings.drawn.log").read_text()


class Turns:
    """A target that accepts, refuses and fails in turn."""

    def __init__(self):
        self.inputs = 0

    def __call__(self, source):
        self.inputs += 1
        if self.inputs % 3 == 0:
            raise ValueError("third")
        return self.inputs % 3 == 1


def test_the_record_tells_how_many_were_accepted_refused_and_failed(tmp_path):
    keeper = Keeper("goals", tmp_path / "goals.json", 8, Turns())
    for number in range(9):  # one more than asked for
        keeper.take(bytes([number]), None)
    told = json.loads((tmp_path / "goals.json").read_text())
    assert [told[what] for what in ("inputs", "accepted", "refused", "failures")] == [8, 3, 3, 2]


class Broken:
    """A target that looks at what comes out after either of two steps; the number of an input chooses the step."""

    def look(self):
        raise ValueError("outside")

    def sample(self):
        self.look()

    def __call__(self, source):
        if source == 0:
            self.sample()
        else:
            self.sample()


def test_an_input_is_kept_of_each_way_to_the_place_that_raises(tmp_path):
    keeper = Keeper("goals", tmp_path / "goals.json", 4, Broken())
    for number in (0, 1, 0, 1):
        keeper.take(bytes([number]), number)
    told = json.loads((tmp_path / "goals.json").read_text())
    assert (told["failures"], len(told["kinds_of_failure"])) == (4, 2)
    kept = [(tmp_path / name).read_bytes() for name in told["kinds_of_failure"].values()]
    assert kept == [bytes([0]), bytes([1])]


def test_atheris_compares_what_guides_it_and_python_the_rest(monkeypatch):
    traced = []
    atheris = SimpleNamespace(_trace_cmp=lambda *arguments: traced.append(arguments))
    monkeypatch.setitem(sys.modules, "atheris", atheris)
    runpy.run_path(str(FUZZ / "coverage_guided.py"))["compare_the_rest_in_python"]()
    values = {"left": np.array([1.0, 2.0, 3.0]), "right": np.array([1.0, 3.0, 2.0])}
    for number, sign in enumerate(dis.cmp_op):
        compared = atheris._trace_cmp(values["left"], values["right"], number, 0, False)
        np.testing.assert_array_equal(compared, eval(f"left {sign} right", values), strict=True)
    assert not traced
    atheris._trace_cmp(1.0, 2, 4, 17, True)
    assert traced == [(1.0, 2, 4, 17, True)]


INTERRUPTED = """
import os, runpy, sys
from pathlib import Path
fuzzer, directory, jobs, *names = sys.argv[1:]
main = runpy.run_path(fuzzer)["main"]
fuzzing = main.__globals__

def fuzz(name, *rest):
    print("begun " + name, flush=True)
    if name == "services":
        sleep = [sys.executable, "-c", "import time; time.sleep(1000)"]
        fuzzing["run_apart"](sleep, name, Path(directory) / "log", rest[-1])
    return {"name": name, "ended": "so", "inputs": 0, "accepted": 0, "refused": 0, "failures": 1}

fuzzing.update(fuzz=fuzz, version=lambda package: "3", isolate=lambda directory: None)
os.environ["ROS_DOMAIN_ID"] = "1"
surfaces = [word for name in names for word in ("--surface", name)]
sys.exit(main([*surfaces, "--jobs", jobs, "--into", directory + "/fuzz"]))
"""


@pytest.mark.parametrize(
    ("jobs", "names", "surfaces"),
    [
        ("1", ("recordings", "recordings", "services", "parameters"), 3),
        ("2", ("services", "recordings"), 2),  # what is through first is kept, though it began later
    ],
)
def test_ctrl_c_ends_what_is_running_and_keeps_what_is_through(tmp_path, jobs, names, surfaces):
    command = [sys.executable, "-c", INTERRUPTED, str(FUZZ / "__main__.py"), str(tmp_path), jobs, *names]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        printed = ""  # looked for in the whole: a thread can print between the line of another and the end of that line
        while not ("begun services" in printed and "recordings " in printed):
            printed += process.stdout.readline()
            assert process.poll() is None, printed
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=30.0)
    finally:
        process.kill()
    assert process.returncode == 130, told
    assert f"interrupted after 1 of {surfaces} surfaces" in told and "begun" not in told
    kept = json.loads((tmp_path / "fuzz/fuzz.json").read_text())
    assert [record["name"] for record in kept["surfaces"]] == ["recordings"]


def test_the_record_names_the_commit_as_the_reports_do_and_a_failure_how_to_put_it_in_again(
    tmp_path, monkeypatch, capsys
):
    fuzzing = FUZZER["main"].__globals__
    failed = {"name": "recordings", **DIED, "kinds_of_failure": {"ValueError": "failed-recordings-0"}}
    monkeypatch.setitem(fuzzing, "fuzz", lambda name, *_: failed)
    monkeypatch.setitem(fuzzing, "version", lambda package: "3")
    monkeypatch.setitem(fuzzing, "isolate", lambda directory: None)
    monkeypatch.setenv("IMPACT_CONTROL_REALTIME", "0")
    assert FUZZER["main"](["--surface", "recordings", "--into", str(tmp_path / "fuzz")]) == 1
    told, machine = json.loads((tmp_path / "fuzz/fuzz.json").read_text()), describe_machine()
    assert (told["commit"], told["machine"]) == (machine["commit"], machine["kind"])
    assert f" {FUZZ} --again {tmp_path / 'fuzz' / 'failed-recordings-0'}\n" in capsys.readouterr().out
