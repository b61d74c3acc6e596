"""Names of topics, services and actions. Relative: they live in the namespace of the arm and may be remapped."""

JOINT_STATES = "joint_states"
COMMANDS = "effort_controller/commands"
GUARD = "effort_controller/state"
EXTERNAL_TORQUE = "impact/external_torque"
EVENTS = "impact/events"
CLASSIFICATION = "impact/classification"
BELIEF = "impact/belief"
REFERENCE = "controller/reference"
STATUS = "controller/status"
POSE = "end_effector/pose"
TWIST = "end_effector/twist"
WRENCH = "end_effector/external_wrench"
TRUTH = "simulation/truth"
DIAGNOSTICS = "/diagnostics"
CLOCK = "/clock"

PREDICT = "predict_post_impact"
EXECUTE = "execute_impact_task"
MOVE_TO = "move_to"
RESET = "simulation/reset"
PAUSE = "simulation/pause"
ACCEPT = "simulation/accept_commands"
SUPERVISOR = "supervisor/status"
STOP = "supervisor/stop"
RESUME = "supervisor/reset"
END = "session/end"

OBJECTS = "simulation/objects"


def of_arm(arm: str, topic: str) -> str:
    """Return the name of a topic of an arm, as seen from the namespace of its scene; arm "": the only one."""
    return f"{arm}/{topic}" if arm else topic
