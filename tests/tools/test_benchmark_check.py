"""The check of the short form: it tells what has become slower, on whatever a machine does meanwhile."""

import json

import pytest

from benchmark.check import ATTEMPTS, COARSE_LIMIT, LIMIT, REFERENCE_FILE, reference_ratios, run_check, run_short
from benchmark.works import checked_works
from benchmark.yardstick import yardstick


def repeated(work, count):
    """Return a work that does another `count` times."""

    def act():
        for _ in range(count):
            work()

    return act


@pytest.mark.long
@pytest.mark.parametrize(("count", "passed"), [(20, True), (26, False)])
def test_what_takes_30_percent_longer_is_told_from_what_does_not(count, passed):
    told = []
    works = {"work": (repeated(yardstick(), count), yardstick()), "new": (yardstick(), yardstick())}
    (check,) = run_check(works, {"work": 20.0}, LIMIT, told.append, pause=0.1)
    assert told == [check]
    assert check.passed is passed
    assert check.change == pytest.approx(count / 20.0, rel=0.1)
    assert check.attempts == ATTEMPTS or passed
    assert ("SLOWER" in check.line) is not passed


def test_a_kind_of_machine_without_references_is_held_to_the_largest_ones_coarsely(tmp_path):
    file = tmp_path / "ratios.json"
    file.write_text(json.dumps({"made": "", "ratios": {"one": {"a": 1.0, "b": 5.0}, "two": {"a": 2.0}}}))
    assert reference_ratios("one", file) == ({"a": 1.0, "b": 5.0}, LIMIT)
    assert reference_ratios("three", file) == ({"a": 2.0, "b": 5.0}, COARSE_LIMIT)


@pytest.mark.wall_clock
def test_no_computation_has_become_slower():
    lines = []
    checks = run_short(lines.append)
    names = set(checked_works())
    assert {check.name for check in checks} == names
    assert all(set(ratios) == names for ratios in json.loads(REFERENCE_FILE.read_text())["ratios"].values())
    assert all(check.passed for check in checks), "\n".join(lines)
