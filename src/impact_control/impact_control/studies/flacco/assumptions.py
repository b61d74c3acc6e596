"""What Flacco 2016 leaves open, and what was taken instead."""

from __future__ import annotations

from impact_control.studies.flacco.experiments import DETECTION_GAIN, IDENTIFICATION_GAIN
from impact_control.studies.flacco.guidance import (
    ADMITTANCE_GAIN,
    FIRST_LENGTH,
    FIRST_TORQUE,
    FOLLOWING,
    PAUSE,
    SECOND_LENGTH,
    SECOND_TORQUE,
)
from impact_control.studies.flacco.nominal import LEVER_ERROR, MASS_ERROR
from impact_control.studies.flacco.recording import POSITION_NOISE
from impact_control.studies.flacco.single_joint import AMPLITUDE, FREQUENCY, INERTIA, JOINT, LEVER, MASS

ASSUMPTIONS = (
    "Romeo's model is not in this repository: the arm is a hanging Panda with a quarter of its mass; only the gaps are "
    "Romeo's. Stiffness, damping, friction and motor inertias are our choice, of the size of the links.",
    "The plants of the simulator have the friction of a Panda. The joints here have that of Flacco 2016 (6), on the "
    "links as in (7), with the sign of a speed smoothed over 10 mrad/s.",
    "The spring carries all of the torque beyond the gap, and tau_M of (5) is left out where the deflection is used.",
    f"Encoders of 17 bit on both sides ({1e6 * POSITION_NOISE:.0f} urad of noise), velocities with the noise of Proper "
    "2021 (3.5), 1 kHz where the source has 100 Hz.",
    f"K_r = {IDENTIFICATION_GAIN:g} 1/s as in the source; K_bs is not published: {DETECTION_GAIN:g} 1/s.",
    "The source does not say how its thresholds were chosen; here they are twice the largest residual of the "
    "identification and of a recording at rest, and above that what the noise of the motors' velocity takes from their "
    "dry friction while they creep to rest. The same ones serve the classical residual, which is given the motor's "
    "inertia and the friction beyond the gap, so that the gap is the only thing that it does not know.",
    "A contact on link i is a random torque on joints 1 to i, three to six times the thresholds that the source "
    "gives (a quarter of it at joint 7), a half sine of 0.3 to 0.5 s.",
    f"The joint of Fig. 2 is not described: {MASS:g} kg at {LEVER:g} m hangs from a motor of {INERTIA:g} kg m^2, "
    f"without friction and noise; {JOINT.gap[0]:g} rad is the half-width of its gap, and the motor follows a sine of "
    f"{AMPLITUDE:g} rad, {FREQUENCY:g} Hz. The motor's inertia is part of M in the classical residual.",
    f"The nominal model has masses and inertias within {100 * MASS_ERROR:g} % and centres of mass within "
    f"{1e3 * LEVER_ERROR:g} mm of the simulated ones, at random. How far Romeo's are off is not known.",
    "The person of Fig. 13 is a script: a hand on link 4 puts half sines of torque on joints 1 to 4, up to "
    f"{FIRST_TORQUE.max():g} Nm for {FIRST_LENGTH:g} s, and after a pause of {PAUSE:g} s up to "
    f"{-SECOND_TORQUE.min():g} Nm for {SECOND_LENGTH:g} s, whatever the arm does.",
    f"K_a of (15) is not published: {ADMITTANCE_GAIN:g} rad/(Nm s) in each joint, of the residual beyond its "
    f"threshold; the speed follows the law with a lag of {1e3 / FOLLOWING:g} ms. After the silence the sine begins "
    "anew.",
)
"""One sentence each."""
