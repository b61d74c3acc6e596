"""Impact-aware control for Franka arms: observe, detect, classify, switch the reference, solve the QP.

The core is free of ROS; `impact_control.nodes` holds the rclpy adapters.
"""

__version__ = "0.1.0"
