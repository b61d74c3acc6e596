"""Recordings that tests share."""

from __future__ import annotations

import pytest

from recording_samples import install_messages


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """An ament prefix with the message definitions."""
    return install_messages(tmp_path_factory.mktemp("prefix"))


@pytest.fixture(scope="session")
def bag(tmp_path_factory):
    """The bag of a run of tabletop; not to be changed."""
    from recorded_courses import write_bag

    return write_bag(tmp_path_factory.mktemp("tabletop"))


@pytest.fixture(scope="session")
def evaluation(bag):
    """The evaluation of that run."""
    from impact_control.replay.evaluation import evaluate

    return evaluate(bag)
