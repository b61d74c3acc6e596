"""Arms that work at the same object: one pipeline each, coordinated.

Each arm keeps its own observer, detector, classifier and controller. What they share is the plan, made for one impact
at one nominal time, and three facts: an impact of any of them makes all leave the ante-impact mode, an arm that stops
stops all, and so does a fault. A fact that one arm finds in a sample holds for the others from the next sample on, as
it would between two processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from impact_control.control import RUNNING, Mode
from impact_control.pipeline import Outcome, Pipeline, worst_of
from impact_control.planning import Plan
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector


class Team:
    """The pipelines of arms that work at the same object, by name, in `pipelines`."""

    def __init__(self, plan: Plan) -> None:
        """Make a pipeline for each arm. Raises InvalidInputError for reactions that are not possible at objects."""
        at_objects = any(arm.scenario.target is not None for arm in plan.arms.values())
        for key in ("on_unexpected_impact", "on_unexpected_post_impact"):
            if at_objects and getattr(plan.scene.reaction, key) == "admittance":
                raise InvalidInputError(
                    f"reaction.{key}", "admittance", "stop, continue or pull_back, with several arms"
                )
        self.plan = plan
        self.pipelines = {name: Pipeline(arm.scenario, arm.robot) for name, arm in plan.arms.items()}
        self._several = len(self.pipelines) > 1

    def reset(self) -> None:
        """Clear every buffer: for activation."""
        for pipeline in self.pipelines.values():
            pipeline.reset()

    def start(self) -> None:
        """Arm the task of every arm: it begins with the next sample."""
        for name, pipeline in self.pipelines.items():
            arm = self.plan.arms[name]
            pipeline.start(arm.reference, arm.scenario, arm.force, hold=arm.hold)

    def cancel(self) -> None:
        """Stop the task of every arm."""
        for pipeline in self.pipelines.values():
            pipeline.cancel()

    def tick(self, samples: Mapping[str, tuple[float, Vector, Vector, Vector]]) -> None:
        """Handle one sample of each arm that has one, by name.

        Time [s], position [rad], velocity [rad/s] and joint torque [Nm], these (n,).
        """
        for name, sample in samples.items():
            self.pipelines[name].tick(*sample)
        if self._several:
            self._inform_partners(samples)

    def _inform_partners(self, samples: Iterable[str]) -> None:
        """Share what was found in the samples of these arms."""
        for name in samples:
            pipeline = self.pipelines[name]
            controller = pipeline.controller
            stopped = controller.mode is not Mode.IDLE and controller.mode not in RUNNING
            for other, partner in self.pipelines.items():
                if other == name or not partner.exerts:
                    continue
                if pipeline.impact_now:
                    partner.partner_touched(pipeline.detector.impact_time)
                if stopped and (partner.armed or partner.follows):
                    partner.stop_with_partner(f"{name} stopped")

    @property
    def finished(self) -> bool:
        """True once the task of every arm has ended."""
        return all(pipeline.finished for pipeline in self.pipelines.values())

    @property
    def outcome(self) -> Outcome:
        """Outcome of the task of the team; final once `finished`."""
        return worst_of([pipeline.outcome for pipeline in self.pipelines.values()])
