"""Names of arms and objects in parameters: those that no topic can have are refused at configuration, with a reason."""

from __future__ import annotations

import pytest
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter

from impact_control.util.errors import InvalidInputError
from impact_control_ros.bridge.lifecycle import arms_in, names_in
from impact_control_ros.nodes.loop import LoopNode
from impact_control_ros.nodes.recorder import RecorderNode
from impact_control_ros.nodes.supervisor import SupervisorNode

ODD = (["a b"], ["~"], ["/"], [","], ["a", ""], ["", ""], ["a", "a"], ["1a"], ["a/b"], ["ä"])


def test_a_list_with_one_empty_name_has_none():
    assert names_in("arms", [""]) == []
    assert names_in("arms", ["left", "right_2"]) == ["left", "right_2"] == arms_in(["left", "right_2"])
    assert arms_in([""]) == [""]


@pytest.mark.parametrize("names", ODD)
def test_what_is_no_name_is_refused(names):
    with pytest.raises(InvalidInputError, match="arms = "):
        names_in("arms", names)


@pytest.mark.parametrize(
    ("make", "parameter"),
    [(RecorderNode, "arms"), (RecorderNode, "objects"), (SupervisorNode, "arms"), (LoopNode, "partners")],
)
def test_a_node_refuses_to_be_configured_with_them_and_takes_others(graph, make, parameter):
    node = graph.add(make)
    for names in ODD:
        node.set_parameters([Parameter(parameter, value=names)])
        assert node.on_configure(None) is TransitionCallbackReturn.FAILURE
    node.set_parameters([Parameter(parameter, value=["left", "right"])])
    assert node.on_configure(None) is TransitionCallbackReturn.SUCCESS
    node.on_cleanup(None)
