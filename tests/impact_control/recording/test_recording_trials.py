"""Trials in HDF5: back as they were, readable without this package, and refused when something is missing."""

from __future__ import annotations

import sys

import h5py
import numpy as np
import pytest

from impact_control.recording.trials import (
    Quantity,
    Source,
    Trial,
    TrialSet,
    read_trials,
    require_whole_heaps,
    write_trials,
)
from impact_control.util.errors import InvalidInputError, MissingDependencyError, ScenarioError

ATTRIBUTES = ("format", "format_version", "seed", "software_version", "trials")
TIME, VELOCITY = "trial_0000/arm_1/time", "trial_0000/arm_1/velocity"


def example():
    random = np.random.default_rng(0)
    trials = []
    for k in range(3):
        slow, fast = np.arange(20) * 1e-2, np.arange(150) * 1e-3
        position = random.normal(size=(150, 7))
        position[5] = np.nan
        arm = Source(
            fast,
            {
                "position": Quantity(position, "rad", "of the joints"),
                "velocity": Quantity(random.normal(size=(150, 7)), "rad/s", "of the joints"),
            },
        )
        box = Source(slow, {"pose": Quantity(random.normal(size=(20, 4, 4)), "1, m", "of the box in the world")})
        feedback = Source(fast, {"acceleration": Quantity(random.normal(size=(150, 3)), "m/s^2", "(28), world")})
        facts = {
            "impact_time": Quantity(np.float64(0.05 + k), "s", "detected"),
            "scale": Quantity(np.float64(0.8), "1"),
        }
        trials.append(Trial({"arm_1": arm, "object": box, "feedback": feedback}, facts))
    return TrialSet("name: push\nobjekt: Kiste äöü\n", 2**40 + 1, "1.2.3", tuple(trials))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "trials.h5"
    write_trials(path, example())
    return path


def content(trials):
    """Bits, shape, unit and meaning of everything in some trials, by its place."""
    found = {}
    for number, one in enumerate(trials):
        places = {("facts", name): fact for name, fact in one.facts.items()}
        for name, source in one.sources.items():
            places[name, "time"] = Quantity(source.time, "s")
            places |= {(name, key): signal for key, signal in source.signals.items()}
        for place, it in places.items():
            found[number, *place] = (it.values.tobytes(), it.values.shape, it.unit, it.meaning)
    return found


def test_trials_come_back_bit_by_bit(file):
    found, expected = read_trials(file), example()
    for name in ("scenario", "seed", "software_version"):
        assert getattr(found, name) == getattr(expected, name)
    assert content(found.trials) == content(expected.trials) and len(found.trials) == 3
    assert not list(file.parent.glob("*.part"))


def test_files_are_read_without_this_package(file):
    """The way of docs/recordings.md."""
    with h5py.File(file) as opened:
        assert opened.attrs["trials"] == 3 and opened.attrs["seed"] == 2**40 + 1
        assert opened["scenario"].asstr()[()].startswith("name: push")
        time = opened["trial_0001/arm_1/time"]
        position = opened["trial_0001/arm_1/position"]
        assert time.shape == position.shape[:1] and time.attrs["unit"] == "s"
        assert position.attrs["unit"] == "rad" and position.attrs["meaning"] == "of the joints"
        assert opened["trial_0001/facts/impact_time"][()] == 1.05


@pytest.mark.parametrize(
    ("change", "key"),
    [
        *((lambda file, name=name: file.pop(name), f"/{name}") for name in ("trial_0001", "trial_0002/facts", TIME)),
        (lambda file: file.pop("scenario"), "scenario"),
        *((lambda file, name=name: file.attrs.pop(name), name) for name in ATTRIBUTES),
        (lambda file: file.attrs.update({"format_version": 99}), "format_version"),
        (lambda file: file[VELOCITY].attrs.pop("unit"), f"/{VELOCITY}.unit"),
        (lambda file: file.update({"trial_0000/arm_1/remark": "text"}), "/trial_0000/arm_1/remark"),
    ],
)
def test_what_is_missing_or_of_another_kind_is_named(file, change, key):
    with h5py.File(file, "a") as opened:
        change(opened)
    with pytest.raises(ScenarioError) as caught:
        read_trials(file)
    assert caught.value.key == key and caught.value.file == str(file)


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.9])
def test_files_that_are_cut_off_or_foreign_are_refused(file, part):
    content = file.read_bytes()
    file.write_bytes(content[: int(part * len(content))])
    with pytest.raises(ScenarioError, match=r"trials\.h5"):
        read_trials(file)


@pytest.mark.parametrize(
    ("place", "damage"),
    [
        (16, bytes(16)),  # the first text is free space of no size: libhdf5 stays there for ever
        (24, b"\xf0" + 7 * b"\xff"),  # with its head it has 2^64 bytes, which are none
        (24, b"\0\x20\0\0\0\0\0\0"),  # longer than its heap
        (8, b"\0\0\0\x40\0\0\0\0"),  # the heap is longer than the file
    ],
)
def test_a_damaged_heap_of_texts_is_refused(file, place, damage):
    content = bytearray(file.read_bytes())
    start = content.index(b"GCOL") + place
    content[start : start + len(damage)] = damage
    file.write_bytes(content)
    with pytest.raises(ScenarioError, match="a damaged heap of texts"):
        read_trials(file)


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_datasets_that_say_more_than_the_file_can_hold_are_refused(file, compression):
    with h5py.File(file, "a") as opened:
        group = opened["trial_0000/arm_1"]
        del group["velocity"]
        # No chunk of it is ever written: read, it would be 80 GB of zeros.
        huge = group.create_dataset("velocity", (10**10,), "f8", compression=compression, chunks=(1000,))
        huge.attrs["unit"], huge.attrs["meaning"] = "rad/s", ""
    with pytest.raises(ScenarioError, match="80000000000 bytes"):
        read_trials(file)


def test_attributes_of_another_kind_are_refused(file):
    for value in ("many", [1, 2], b"\xff"):
        with h5py.File(file, "a") as opened:
            opened.attrs["trials"] = value
        with pytest.raises(ScenarioError):
            read_trials(file)


def test_files_of_others_are_refused(tmp_path):
    foreign = tmp_path / "foreign.h5"
    with h5py.File(foreign, "w") as opened:
        opened["data"] = np.zeros(3)
    for path in (foreign, tmp_path / "none.h5", tmp_path):
        with pytest.raises(ScenarioError):
            read_trials(path)


def test_what_cannot_be_written_leaves_the_old_file(file):
    before = file.read_bytes()
    with pytest.raises(InvalidInputError, match="path"):
        write_trials(file.parent / "missing" / "trials.h5", example())
    write_trials(file, example())
    assert len(read_trials(file).trials) == 3 and len(file.read_bytes()) == len(before)


def test_texts_of_any_length_are_whole_when_written_anew(tmp_path):
    file, random = tmp_path / "texts.h5", np.random.default_rng(0)
    with h5py.File(file, "w") as opened:
        for size in range(60):
            opened.attrs[f"text_{size}"] = "x" * size
            opened.attrs[f"long_{size}"] = "x" * int(random.integers(3000))
    require_whole_heaps(file)
    with h5py.File(file, "a") as opened:
        for size in range(0, 60, 3):
            del opened.attrs[f"text_{size}"]
            opened.attrs[f"long_{size}"] = "y" * int(random.integers(6000))
    assert file.read_bytes().count(b"GCOL") > 1
    require_whole_heaps(file)


def test_without_the_library_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingDependencyError, match="h5py"):
        read_trials(tmp_path / "any.h5")


def test_trials_that_cannot_be_are_refused():
    time, one = np.arange(3.0), Quantity(np.zeros(3), "m")
    for build, name in (
        (lambda: Quantity(np.zeros(3), ""), "unit"),
        (lambda: Source(time[::-1], {"x": one}), "time"),
        (lambda: Source(time, {"x": Quantity(np.zeros(2), "m")}), "x"),
        (lambda: Source(time, {"time": one}), "signals"),
        (lambda: Source(time, {"a/b": one}), "name"),
        (lambda: Trial({}, {"fact": one}), "fact"),
        (lambda: Trial({"facts": Source(time, {})}, {}), "sources"),
    ):
        with pytest.raises(InvalidInputError) as caught:
            build()
        assert caught.value.name == name
