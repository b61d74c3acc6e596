"""The ROS 2 side of `impact_control`: nodes, messages, robot side, and the session that runs a graph."""
