"""Compare impact maps with the inertia of the links, with reduced motors and with whole motors, over impact angles."""

import numpy as np

from impact_control.impacts import predict_post_impact_velocity
from impact_control.robots import Dynamics, load_robot

POSITION = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785])  # [rad]
NORMAL = np.array([0.0, 0.0, 1.0])
SPEED, FRICTION = 0.2, 0.1  # [m/s]

robot = load_robot("panda", "sphere")
dynamics = Dynamics(robot)
dynamics.compute(POSITION, np.zeros(7))
jacobian = dynamics.jacobian[:3]
links = dynamics.mass_matrix
MAPS = {
    "M": links,
    "M + B_theta": links + np.diag(robot.transmission.reduced_motor_inertia),
    "M + B_rho": links + np.diag(robot.transmission.motor_inertia),
}

print("angle   map            impulse   jump of joint 2, 4, 6 [rad/s]")
for angle in (30, 60, 90):
    a = np.deg2rad(angle)
    before = np.linalg.pinv(jacobian) @ (SPEED * np.array([np.cos(a), 0.0, -np.sin(a)]))
    for name, inertia in MAPS.items():
        impact = predict_post_impact_velocity(inertia, jacobian, NORMAL, before, FRICTION)
        jump = (impact.velocity - before)[[1, 3, 5]]
        print(f"{angle:2d} deg  {name:12s}  {impact.normal_impulse:5.2f} Ns   {jump.round(3)}")
