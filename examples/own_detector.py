"""Detect impacts by a score of your own: the residual rate of all joints together, in standard deviations."""

import numpy as np

from impact_control.detection import DetectionSignals, ScoreDetector

DEVIATION = np.array([80.0, 110.0, 90.0, 80.0, 4.0, 12.0, 1.2])  # [Nm/s] in free motion


class WholeArmScore:
    """Norm of the normalised residual rate; one channel."""

    isolates = False  # the channel belongs to no single joint
    channels = 1
    joints = np.array([-1])

    def __init__(self):
        self._rate, self._value = np.zeros(7), np.zeros(1)

    def reset(self):
        """Forget all samples: nothing is remembered."""

    def evaluate(self, signals, time):
        """Return the score of a sample; at 1 kHz it allocates nothing and never raises."""
        np.divide(signals.residual_rate, DEVIATION, out=self._rate)
        self._value[0] = np.sqrt(self._rate @ self._rate)
        return self._value


detector = ScoreDetector(WholeArmScore(), 7, threshold=np.array([20.0]), refractory_time=0.05)
signals, random = DetectionSignals(7), np.random.default_rng(1)
for k in range(1000):
    signals.residual_rate[:] = random.normal(0.0, DEVIATION)
    if k == 700:
        signals.residual_rate[3] += 2000.0  # [Nm/s], an impact at joint 4
    if detector.detect(signals, k * 1e-3):
        print(f"impact detected at {detector.detection_time:.3f} s")
