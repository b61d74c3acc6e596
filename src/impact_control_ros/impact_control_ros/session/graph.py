"""The one description of the running graph: which nodes, with which parameters. Launch files and CLI use it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from impact_control.util.errors import InvalidInputError
from impact_control.util.settings import HOST, PORT
from impact_control_ros.bridge.settings import UNNAMED, Shape
from impact_control_ros.bridge.supervision import LONGEST_LIMIT, SupervisionLimits
from impact_control_ros.bridge.topics import of_arm

if TYPE_CHECKING:
    from impact_control.scenario import Scene


class Duty(Enum):
    """Role of a node in the graph; decides the order of start and stop."""

    ROBOT = "robot"
    SERVICE = "service"
    LOOP = "loop"
    SUPERVISOR = "supervisor"
    RECORDER = "recorder"
    VIEWER = "viewer"


@dataclass(frozen=True)
class NodeSpec:
    """One process: its executable, name of the node, parameters.

    executable: of the package, which is a module of `impact_control_ros.nodes`; or the full name of a module elsewhere
    that has a function `main`, or the absolute path of a program. namespace: of the node below that of the graph; ""
    for the same.
    """

    name: str
    executable: str
    duty: Duty
    parameters: Mapping[str, object] = field(default_factory=dict)
    namespace: str = ""

    @property
    def path(self) -> str:
        """Name of the node as seen from the namespace of the graph."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def enclave(self, namespace: str = "") -> str:
        """Return the SROS 2 enclave of the process, which has the full name of the node. namespace: of the graph."""
        return full_name(namespace, self.path)


def full_name(namespace: str, path: str) -> str:
    """Return the name of a node or an enclave from the root on; slashes around the namespace do not matter."""
    return f"/{below(namespace, path)}"


def below(namespace: str, name: str) -> str:
    """Return a name in a namespace, either of which may be empty; slashes around the namespace do not matter."""
    return "/".join(part for part in (namespace.strip("/"), name) if part)


_NAMESPACE = re.compile(r"/?([A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*)?/?")


def require_namespace(namespace: str) -> None:
    """Raise InvalidInputError for a namespace that ROS does not allow."""
    if not _NAMESPACE.fullmatch(namespace):
        allowed = "names of letters, digits and _ that do not begin with a digit, with / in between"
        raise InvalidInputError("namespace", namespace, allowed)


OPERATOR = "operator"
"""Enclave, in the namespace of the graph, of the operator: session, clients, `ros2` and launch."""


@dataclass(frozen=True)
class View:
    """The page that shows a graph: port, address to listen at, and for how long [s] the start waits for a browser."""

    port: int = PORT.default
    host: str = HOST.default
    patience: float = 0.0


NODE_ENVIRONMENT = {
    # For matrices of seven rows, threads of the linear algebra only fight for the cores.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # Each keeps its own enclave, also when the terminal it is started from has one.
    "ROS_SECURITY_ENCLAVE_OVERRIDE": "",
}
"""Environment of every node."""

RECORDED_AT_LEAST = ("joint_states", "effort_controller/commands", "impact/external_torque", "controller/reference")
"""Topics without whose publishers a recording of the graph does not begin."""

ALONE = ("",)
"""Arms of a graph with one, which has no name and no namespace of its own."""


def describe_graph(
    scenario: str,
    *,
    arms: Sequence[str] = ALONE,
    objects: Sequence[str] = (),
    shape: Shape = Shape.COMPOSED,
    simulate: bool = True,
    lockstep: bool = False,
    real_time_factor: float | None = None,
    seed: int | None = None,
    record: bool = True,
    supervise: bool = True,
    view: View | None = None,
) -> tuple[NodeSpec, ...]:
    """Return the nodes for a scenario, in the order in which they are to be started.

    scenario: name or path. arms: by name: each gets a namespace and a loop of its own, which listens to the others.
    The references of arms with names come with their impact, so no predictor is needed. objects: of a scene, to
    record. simulate: with the embedded simulator as the robot side. lockstep: the simulator waits for the command of
    each sample; it then starts paused. real_time_factor: simulated seconds per second of the wall clock; None: what
    the cores here carry. seed: of the sensor noise; None: the scenario's. record: with a recorder, which needs its
    `directory` set before it is activated. supervise: with a supervisor, unless in lockstep, where nothing is late.
    view: in the browser; it comes first, so that nothing happens unseen.
    """
    if lockstep and not simulate:
        raise InvalidInputError("lockstep", lockstep, "False without the simulator, as a robot does not wait")
    common = {"scenario": scenario}
    factor = real_time_factor or sustainable_real_time_factor(len(arms))
    patience = {"state_patience": 0.0} if lockstep else {}
    supervisors: list[NodeSpec] = []
    if supervise and not lockstep:
        patience = {"supervisor_patience": SUPERVISOR_PATIENCE}
        slower = SIMULATED_PATIENCE * max(1.0, 1.0 / factor) if simulate else 1.0
        limits = {name: min(limit * slower, LONGEST_LIMIT) for name, limit in asdict(SupervisionLimits()).items()}
        supervisors = [NodeSpec("supervisor", "supervisor", Duty.SUPERVISOR, {"arms": list(arms), **limits})]
    nodes: list[NodeSpec] = [] if view is None else [viewer(scenario, view, simulated=simulate)]
    if record:
        topics = [*RECORDED_AT_LEAST, *(["simulation/truth"] if simulate else [])]
        required = [of_arm(arm, topic) for arm in arms for topic in topics]
        recorded = {"required": required, "arms": list(arms), "objects": list(objects or UNNAMED)}
        nodes.append(NodeSpec("recorder", "recorder", Duty.RECORDER, recorded))
    if simulate:
        parameters = {
            **common,
            "seed": -1 if seed is None else seed,
            "lockstep": lockstep,
            "start_paused": lockstep,
            "real_time_factor": factor,
        }
        nodes.append(NodeSpec("simulator", "simulator", Duty.ROBOT, parameters))
    if tuple(arms) == ALONE:
        nodes.append(NodeSpec("predictor", "predictor", Duty.SERVICE, common))
    for arm in arms:
        partners = [other for other in arms if other != arm] or list(UNNAMED)
        own = {**common, "arm": arm}
        controls = {**own, **patience, "partners": partners}
        nodes += _loops(shape, own, controls, arm)
    return (*nodes, *supervisors)


def graph_of(name: str, *, seed: int | None = None, **options: Any) -> tuple[Scene, tuple[NodeSpec, ...]]:
    """Load a scenario, with a seed of its own if one is given, and return it with its nodes.

    name: of the file, or its path. options: of `describe_graph`.
    """
    from impact_control.scenario import load_scenario, parts_of  # nobody who only looks for nodes needs it

    scenario = load_scenario(name).with_overrides({} if seed is None else {"simulation.seed": seed})
    return scenario, describe_graph(name, **parts_of(scenario), seed=seed, **options)


def _loops(shape: Shape, own: Mapping[str, object], controls: Mapping[str, object], namespace: str) -> list[NodeSpec]:
    """Return the nodes of one arm; own: parameters of each of them, controls: of the one with the controller."""
    if shape is Shape.COMPOSED:
        return [NodeSpec("impact_loop", "loop", Duty.LOOP, controls, namespace)]
    parameters = {"detector": own, "classifier": own, "controller": controls}
    return [NodeSpec(name, name, Duty.LOOP, given, namespace) for name, given in parameters.items()]


def viewer(scenario: str, view: View, *, simulated: bool) -> NodeSpec:
    """Return the node that shows a graph with this scenario. simulated: whether the robot side is the simulator."""
    parameters = {
        "scenario": scenario,
        "port": view.port,
        "host": view.host,
        "patience": view.patience,
        "simulated": simulated,
    }
    return NodeSpec("viewer", "viewer", Duty.VIEWER, parameters)


SUPERVISOR_PATIENCE = 0.5
"""[s] a loop goes on without a sign of life of its supervisor."""

SIMULATED_PATIENCE = 3.0
"""Factor on the limits of a supervisor with the embedded simulator, which damps a silent controller's arm by itself:
on a machine not set up for real time, a core may stall for longer than is allowed with an arm."""


def sustainable_real_time_factor(loops: int, *, behind_managers: bool = False) -> float:
    """Return how fast the clock of a simulator may run that shares the cores here with `loops` at 1 kHz, at most 1.

    behind_managers: of ros2_control, one for each loop. A core that real-time threads fill by more than 95 % stands
    still for 50 ms a second.
    """
    return min(1.0, len(os.sched_getaffinity(0)) / (2 * loops if behind_managers else loops + 1))
