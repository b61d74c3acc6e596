"""The loop's question to the predictor: asked again where it, or its answer, gets lost, and not for ever."""

from __future__ import annotations

import pytest
from impact_msgs.srv import PredictPostImpact
from rclpy.task import Future

from impact_control.util.errors import ImpactControlError
from impact_control_ros.bridge import impact_task
from impact_control_ros.bridge.impact_task import ImpactTaskServer


class LossyClient:
    """A client of a predictor that loses the first answers."""

    def __init__(self, lost):
        self._lost = lost
        self.service_name = "/predict_post_impact"
        self.asked = 0
        self.pending = []

    def wait_for_service(self, timeout_sec):
        return True

    def call_async(self, request):
        self.asked += 1
        future = Future()
        self.pending.append(future)
        if self.asked > self._lost:
            future.set_result(PredictPostImpact.Response(success=True, normal_impulse=float(self.asked)))
        return future

    def remove_pending_request(self, future):
        self.pending.remove(future)


@pytest.fixture
def ask(monkeypatch):
    """Asks by a client; the answer."""
    monkeypatch.setattr(impact_task, "REPEAT", 0.02)
    monkeypatch.setattr(impact_task, "PATIENCE", 0.2)
    server = ImpactTaskServer.__new__(ImpactTaskServer)

    def ask(client):
        return server.ask(client, PredictPostImpact.Request())

    return ask


@pytest.mark.parametrize("lost", [0, 1, 3])
def test_an_answer_that_is_lost_is_asked_for_again(ask, lost):
    client = LossyClient(lost)
    assert ask(client).normal_impulse == client.asked == lost + 1
    assert client.pending == []


def test_a_predictor_that_never_answers_is_given_up(ask):
    client = LossyClient(1000)
    with pytest.raises(ImpactControlError, match=r"predict_post_impact did not answer within 0\.2 s"):
        ask(client)
    assert client.pending == []


def test_a_predictor_that_is_not_there_is_given_up(ask):
    client = LossyClient(0)
    client.wait_for_service = lambda timeout_sec: False
    with pytest.raises(ImpactControlError, match="did not answer"):
        ask(client)
    assert client.asked == 0
