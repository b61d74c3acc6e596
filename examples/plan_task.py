"""Plan a task, read how much of each limit it uses, and take the first proposal where it is infeasible."""

from impact_control.planning import outlook_of
from impact_control.planning.summary import outlook_text
from impact_control.scenario import load_scenario
from impact_control.simulation.scenario_run import run_scenario

scenario = load_scenario("tabletop").with_overrides({"task.impact.speed": "0.5 m/s"})
outlook = outlook_of(scenario)
print(outlook_text(outlook))

if not outlook.feasible:
    changes = outlook.proposals[0].changes
    print("taken:", changes)
    print(run_scenario(scenario.with_overrides(changes)).outcome.name)
