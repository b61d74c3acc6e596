"""ROS 2 adapters: messages in, core objects, messages out. The only place that imports rclpy."""
