"""Trials of a point whose velocity after the impact is known, under the controller of van Steen 2024."""

from __future__ import annotations

import math

import numpy as np

from impact_control.recording.net_feedback import Track, feedback_signal, net_feedback

PERIOD, STIFFNESS, INTERIM = 1e-3, 400.0, 0.1
TIME = np.arange(-200, 901) * PERIOD
ANTE_SPEED, TRUE = 0.7, 0.41
SLOWING = -0.15
"""[m/s^2] of the post-impact reference."""


def references(speed: float) -> tuple[Track, Track]:
    """Ante- and post-impact references (m, 1), equal at 0 s, van Steen 2024 (14)."""
    ante = Track((ANTE_SPEED * TIME)[:, None], np.full((TIME.size, 1), ANTE_SPEED))
    position = speed * TIME + 0.5 * SLOWING * TIME**2
    return ante, Track(position[:, None], (speed + SLOWING * TIME)[:, None])


def trial(speed: float, impact: float = 0.0, vibration: float = 0.0, noise: float = 0.0, seed: int = 0) -> Track:
    """What a mass does that is accelerated as told and left with TRUE by the impact; noise [m/s] of its velocity.

    A vibration [m/s^2], a decaying sine that sums up to nothing, shakes it. Its own integration of the controller.
    """
    random = np.random.default_rng(seed)
    position, velocity = np.zeros((2, TIME.size))
    p, v, hit = ANTE_SPEED * TIME[0], ANTE_SPEED, False
    for k, t in enumerate(TIME):
        if not hit and t >= impact - 1e-9:
            v, hit = v + TRUE - ANTE_SPEED, True
        position[k], velocity[k] = p, v + noise * random.standard_normal()
        if t < impact - 1e-9:
            wanted, rate, feed, gamma = ANTE_SPEED * t, ANTE_SPEED, 0.0, 1.0
        else:
            wanted, rate, feed = speed * t + 0.5 * SLOWING * t**2, speed + SLOWING * t, SLOWING
            gamma = min((t - impact) / INTERIM, 1.0)
        back = 2.0 * math.sqrt(STIFFNESS) * gamma * (rate - velocity[k]) + STIFFNESS * (wanted - p)
        shake = 0.0
        if hit:
            since = t + 0.5 * PERIOD - impact
            # d/dt of exp(-30 t) sin(250 t), whose integral is 0.
            shake = vibration * math.exp(-30.0 * since) * (math.cos(250.0 * since) - 0.12 * math.sin(250.0 * since))
        a = feed + back + shake
        p += PERIOD * v + 0.5 * PERIOD**2 * a
        v += PERIOD * a
    return Track(position[:, None], velocity[:, None])


def net_of(speed: float, measured: Track, impact: float = 0.0) -> float:
    ante, post = references(speed)
    signal = feedback_signal(
        TIME, measured, ante, post, stiffness=STIFFNESS, impact_time=impact, interim_duration=INTERIM
    )
    return float(net_feedback(TIME, signal, -0.1, 0.8)[0])
