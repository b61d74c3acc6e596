"""Write a scenario that differs from a shipped one in a few keys, and run it without ROS, expected and not."""

from pathlib import Path
from tempfile import TemporaryDirectory

from impact_control.scenario import config_directory, load_scenario
from impact_control.simulation.scenario_run import run_scenario

TEXT = f"""
extends: {config_directory() / "scenarios" / "tabletop.yaml"}
description: A lower table, hit faster, pressed less.
task:
  impact: {{position: "0.50, 0.0, 0.15 m", speed: 0.3 m/s}}
  post: {{force: 20 N}}
expected_environment:
  surface: {{point: "0.50, 0.0, 0.15 m"}}
actual_environment:
  surface: {{point: "0.50, 0.0, 0.15 m"}}
"""

with TemporaryDirectory() as directory:
    file = Path(directory) / "low_table.yaml"
    file.write_text(TEXT, encoding="utf-8")
    scenario = load_scenario(file)

lower = scenario.with_overrides({"actual_environment.surface.point": "0.50, 0.0, 0.13 m"})
for name, variant in (("as expected", scenario), ("2 cm lower than expected", lower)):
    course = run_scenario(variant)
    arm = course.single
    delay = 1e3 * (arm.detection_time - arm.first_contact_time)
    print(f"table {name}: {course.outcome.name}, detected {delay:.2f} ms after contact; {arm.reason}")
