"""Speed of the core on one core, part by part; `nodes.bench` adds the way over DDS."""

from impact_control.benchmark.figure import Figure
from impact_control.benchmark.loop import loop_figures, record_run
from impact_control.benchmark.physics import physics_figures

__all__ = ["Figure", "loop_figures", "physics_figures", "record_run"]
