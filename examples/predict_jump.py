"""Predict the joint velocities after an impact on a table, for several coefficients of friction."""

import numpy as np

from impact_control.impacts import predict_post_impact_velocity
from impact_control.robots import Dynamics, load_robot

POSITION = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785])  # [rad]
NORMAL = np.array([0.0, 0.0, 1.0])  # of the table, out of it
HAND = np.array([0.1, 0.0, -0.2])  # [m/s] velocity of the contact point before the impact

robot = load_robot("panda", "sphere")
dynamics = Dynamics(robot)
dynamics.compute(POSITION, np.zeros(7))
jacobian = dynamics.jacobian[:3]
inertia = dynamics.mass_matrix + np.diag(robot.transmission.reduced_motor_inertia)  # M + B_theta
before = np.linalg.pinv(jacobian) @ HAND

print("joint velocity before [rad/s]:", before.round(3))
for friction in (0.0, 0.1, 0.3):
    impact = predict_post_impact_velocity(inertia, jacobian, NORMAL, before, friction)
    print(f"friction {friction}: after {impact.velocity.round(3)}")
    print(f"  impulse {impact.normal_impulse:.2f} Ns, energy {impact.kinetic_energy_change:.3f} J, {impact.slip.name}")
