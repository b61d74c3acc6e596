"""Pose, twist and external wrench of the end-effector as standard messages, at a tenth of the rate of the samples."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped

from impact_control.robots import CONTACT_FRAME, Dynamics
from impact_control.robots.urdf import WORLD, link_name
from impact_control.util.types import Vector
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.lifecycle import Configuration
from impact_control_ros.bridge.messages import set_xyz

PUBLISHED = (topics.POSE, topics.TWIST, topics.WRENCH)

PERIOD = 10
"""Samples between two messages: they are for clients and recordings, not for feedback control."""


class EndEffectorOutput:
    """Publishes pose and twist of the contact frame E, and the wrench on it that explains the residual."""

    def __init__(self, configuration: Configuration, arm: str = "") -> None:
        """Open the topics. arm: its name in a scene, which is in the name of E."""
        self._pose_publisher = configuration.publisher(PoseStamped, topics.POSE, qos.STREAM)
        self._twist_publisher = configuration.publisher(TwistStamped, topics.TWIST, qos.STREAM)
        self._wrench_publisher = configuration.publisher(WrenchStamped, topics.WRENCH, qos.STREAM)
        self._publishers = (self._pose_publisher, self._twist_publisher, self._wrench_publisher)
        self._pose, self._twist, self._wrench = PoseStamped(), TwistStamped(), WrenchStamped()
        self._pose.header.frame_id = self._twist.header.frame_id = WORLD
        self._wrench.header.frame_id = link_name(arm, CONTACT_FRAME)
        self._heard = True
        self._samples = 0

    def look_for_listeners(self) -> None:
        """Look for subscribers: messages without any are not built."""
        self._heard = any(publisher.get_subscription_count() > 0 for publisher in self._publishers)

    def publish(self, stamp: Time, dynamics: Dynamics, residual: Vector) -> None:
        """Publish the state of a sample, every `PERIOD` samples; residual (n,) [Nm]: estimated external torque."""
        self._samples += 1
        if not self._heard or self._samples % PERIOD:
            return
        for message in (self._pose, self._twist, self._wrench):
            message.header.stamp = stamp
        pose, twist, wrench = self._pose.pose, self._twist.twist, self._wrench.wrench
        set_xyz(pose.position, dynamics.position)
        turned = pose.orientation
        turned.x, turned.y, turned.z, turned.w = pin.Quaternion(dynamics.rotation).coeffs().tolist()
        set_xyz(twist.linear, dynamics.twist[:3])
        set_xyz(twist.angular, dynamics.twist[3:])
        force = external_wrench(dynamics, residual)
        set_xyz(wrench.force, force[:3])
        set_xyz(wrench.torque, force[3:])
        self._pose_publisher.publish(self._pose)
        self._twist_publisher.publish(self._twist)
        self._wrench_publisher.publish(self._wrench)


def external_wrench(dynamics: Dynamics, torque: Vector) -> Vector:
    """Return the wrench of the environment on E (6,) [N, Nm], axes and origin of E, from an external torque (n,) [Nm].

    J^T f = tau_ext by least squares, of least norm where the arm is singular. A force that acts elsewhere on the arm
    appears as the wrench on E that gives nearly the same torque.
    """
    mixed = np.linalg.lstsq(dynamics.jacobian.T, torque, rcond=1e-6)[0]
    back = dynamics.rotation.T
    return np.concatenate((back @ mixed[:3], back @ mixed[3:]))
