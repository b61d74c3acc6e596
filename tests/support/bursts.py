"""Many calls of the predictor at once, by clients with a profile of their own."""

from __future__ import annotations

from contextlib import contextmanager, suppress

from impact_msgs.srv import PredictPostImpact
from rclpy.qos import qos_profile_services_default

from impact_control_ros.bridge import topics

ATTEMPTS = 3


@contextmanager
def client_of(peer, profile=qos_profile_services_default):
    """Offer a client of the predictor; the default profile keeps ten requests and answers."""
    client = peer.node.create_client(PredictPostImpact, topics.PREDICT, qos_profile=profile)
    peer.until(client.service_is_ready, what="the predictor")
    try:
        yield client
    finally:
        peer.node.destroy_client(client)


def answers_of(peer, calls, patience=60.0):
    """Return the answers to calls, all of which come."""
    peer.until(lambda: all(call.done() for call in calls), patience, "the last answer")
    return [call.result() for call in calls]


def answers_of_some_attempt(peer, begin):
    """The same, of the calls that `begin` makes: a client that keeps ten loses answers while it gets no core."""
    for _ in range(ATTEMPTS - 1):
        with suppress(AssertionError):
            return answers_of(peer, begin(), 25.0)
    return answers_of(peer, begin())
