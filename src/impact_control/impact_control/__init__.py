"""Impact-aware control for Franka arms: observe, detect, classify, switch the reference, solve the QP.

Free of ROS, which `impact_control_ros` adds.
"""

__version__ = "0.2.0"
