"""The event of an impact is sent at once, and again when its link is settled; others take it as one impact."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from impact_control.nodes.messages import FirstOfEvent, nanoseconds
from impact_control.nodes.writers import ImpactEventWriter

OBSERVER = SimpleNamespace(residual=np.array([1.0, 2.0]), residual_rate=np.array([3.0, 4.0]))


def detector(index, link, settled):
    return SimpleNamespace(index=index, isolated_link=link, link_settled=settled, triggered=np.array([True, False]))


def impact(writer, index, link=-1, settled=False):
    """Stamps and links of what is sent at an impact."""
    stamp = 1_000_000 * index
    events = writer.impact(stamp, stamp - 500_000, detector(index, link, settled), OBSERVER, np.zeros(2), np.ones(2))
    return [(event.index, event.isolated_link) for event in events], events[-1]


def test_the_event_comes_again_with_the_link_once_that_is_settled():
    writer = ImpactEventWriter(("a", "b"))
    assert not writer.waiting
    sent, event = impact(writer, 1)
    assert sent == [(1, -1)]
    assert (nanoseconds(event.header.stamp), nanoseconds(event.impact_time)) == (1_000_000, 500_000)
    assert list(event.external_torque) == [1.0, 2.0] and list(event.joint_velocity) == [1.0, 1.0]
    assert writer.settle(detector(1, 1, False)) == [] and writer.waiting
    (again,) = writer.settle(detector(1, 2, True))
    assert (again.index, again.isolated_link, nanoseconds(again.header.stamp)) == (1, 2, 1_000_000)
    assert not writer.waiting


def test_without_isolation_an_event_comes_once():
    writer = ImpactEventWriter(("a", "b"))
    assert impact(writer, 1, link=2, settled=True)[0] == [(1, 2)]
    assert not writer.waiting


def test_the_next_impact_ends_the_waiting_with_the_link_known_by_then():
    writer = ImpactEventWriter(("a", "b"))
    impact(writer, 1)
    writer.settle(detector(1, 2, False))
    assert impact(writer, 2)[0] == [(1, 2), (2, -1)]
    writer.reset()
    assert not writer.waiting


def test_a_receiver_takes_both_messages_of_an_impact_as_one():
    writer, is_new = ImpactEventWriter(("a", "b")), FirstOfEvent()
    first = impact(writer, 1)[1]
    assert is_new(first)
    assert not is_new(writer.settle(detector(1, 2, True))[0])
    assert is_new(impact(writer, 2)[1])
    # A detector that was reset counts from 1 again: the stamp tells.
    restarted = impact(ImpactEventWriter(("a", "b")), 2)[1]
    restarted.header.stamp.sec = 5
    assert is_new(restarted)
