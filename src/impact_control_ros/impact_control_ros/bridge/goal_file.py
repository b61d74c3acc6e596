"""Scenario files that goals name, read and checked in a process of their own, whatever is in them.

Run as a module it is that process: a path on each line of its input, a line of JSON with text or error for each.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from impact_control.planning.assignment import Assignment, assigned, assigned_in
from impact_control.scenario import Scene, load_scenario, scenario_from_text
from impact_control.util.errors import ImpactControlError

LONGEST = 20.0
"""[s] for the largest file, on a machine whose cores loops and simulator nearly fill; 0.1 s is usual."""


class GoalFiles:
    """Process that reads scenario files; it is started when it is first needed, and again after it was given up."""

    def __init__(self, robot: Any = None) -> None:
        """robot: section of all tasks, None for any; the files of another robot are not read here."""
        self._robot = robot
        self._reader: Any = None

    def start(self) -> None:
        """Start the process, unless it runs. What it imports takes a second on an idle machine."""
        if self._reader is None or self._reader.poll() is not None:
            self._reader = subprocess.Popen(
                [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )

    def close(self) -> None:
        """End the process."""
        if self._reader is not None:
            self._reader.kill()
            self._reader.communicate()
            self._reader = None

    def assigned(self, name_or_path: str, arm: str) -> Assignment:
        """Return the task of an arm, as `planning.assignment.assigned`; shipped scenarios are read here.

        Raises ImpactControlError with the reason of the other process, and for a file that takes too long.
        """
        if Path(name_or_path).suffix not in (".yaml", ".yml"):
            return assigned(name_or_path, arm)
        answer = self._ask(name_or_path)
        if "error" in answer:
            raise ImpactControlError(answer["error"])
        if self._robot not in (None, answer["robot"]):
            raise ImpactControlError(
                f"scenario {answer['name']!r}: another robot than this node was configured with; allowed: the same"
            )
        return assigned_in(scenario_from_text(answer["text"], name_or_path), arm)

    def _ask(self, path: str) -> dict[str, Any]:
        self.start()
        reader = self._reader
        try:
            reader.stdin.write(json.dumps(path) + "\n")
            reader.stdin.flush()
            ready, _, _ = select.select([reader.stdout], [], [], LONGEST)
            if ready and (line := reader.stdout.readline()):
                answer: dict[str, Any] = json.loads(line)
                return answer
            found = "its reader ended" if ready else f"not read within {LONGEST:g} s"
        except OSError as error:
            found = f"its reader ended: {error}"
        self.close()
        raise ImpactControlError(f"{path}: {found}")


def robot_section(scene: Scene) -> Any:
    """Return the robot of a scenario as its file has it."""
    return scene.document.plain().get("robot")


def serve(requests: IO[str], answers: IO[str]) -> None:
    """Read the scenario of each path, check it with its robots, and answer with all that it extends and includes."""
    for line in requests:
        try:
            scene = load_scenario(json.loads(line))
            scene.robots()
            answer = {"text": scene.to_yaml(), "name": scene.name, "robot": robot_section(scene)}
        except ImpactControlError as error:
            answer = {"error": str(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin, sys.stdout)
