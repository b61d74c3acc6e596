"""Options of the test run, and a ROS domain of its own for everything in it."""

from __future__ import annotations

import os
import random
import signal

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

from impact_control_ros.session.processes import dds_environment
from machine import ATTEMPTS

# A change is judged by the same examples everywhere; `make new-examples` looks for new ones.
settings.register_profile("same_examples", derandomize=True)
settings.register_profile("new_examples", derandomize=False, print_blob=True)
settings.load_profile("same_examples")

DOMAINS = 101
"""ROS domains that may be used on every system: 1 to 101."""

REPEATED = pytest.StashKey()


def pytest_addoption(parser):
    """Add how often and how the scenarios are run."""
    parser.addoption("--runs", type=int, default=1, help="runs of each tabletop scenario over DDS, each with a seed")
    parser.addoption("--times", type=int, default=1, help="how often every test is run")
    parser.addoption("--real-time", action="store_true", help="run the scenarios by the wall clock, not in lockstep")


def pytest_configure(config):
    """Keep this run, and each of its workers, apart from every other ROS graph on this machine."""
    config.stash[REPEATED] = []
    worker = getattr(config, "workerinput", None)
    if worker is None:
        domain = random.SystemRandom().randrange(DOMAINS)
    else:
        domain = int(os.environ["ROS_DOMAIN_ID"]) + int(worker["workerid"].removeprefix("gw"))
    os.environ["ROS_DOMAIN_ID"] = str(1 + domain % DOMAINS)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.update(dds_environment())
    # Signals that are ignored here, as under nohup or in the background, would be in every process that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def _ros_logs_in_temporary_directory(tmp_path_factory):
    os.environ["ROS_LOG_DIR"] = str(tmp_path_factory.mktemp("ros_log"))


@pytest.fixture
def repetition(request):
    """The number of this run of a test, with --times."""
    return request.param


def pytest_generate_tests(metafunc):
    """Run every test as often as --times says."""
    times = metafunc.config.getoption("--times")
    if times > 1:
        metafunc.fixturenames.append("repetition")
        metafunc.parametrize("repetition", range(times), indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Run a test by the wall clock again where it failed: a stalled core fails it once, a defect each time.

    With --times each run counts.
    """
    if item.get_closest_marker("wall_clock") is None or item.config.getoption("--times") > 1:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for _ in range(1, ATTEMPTS):
        if not (failed := [report for report in reports if report.failed]):
            break
        item.config.stash[REPEATED] += [f"{item.nodeid}: {report.longreprtext.splitlines()[-1]}" for report in failed]
        # Also what several tests share, as a running graph: it may be what the stall has ended.
        item.session._setupstate.teardown_exact(None)
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter, config):
    """List the tests that were run again, and why."""
    for line in config.stash[REPEATED]:
        terminalreporter.write_line(f"failed and was run again: {line}")


@pytest.fixture(scope="module")
def graph():
    """A ROS context for nodes that are called by hand."""
    from surfaces.graph import Graph

    graph = Graph()
    yield graph
    graph.close()


def pytest_collection_modifyitems(items):
    """Mark what starts nodes."""
    for item in items:
        if item.path.parent.name == "nodes":
            item.add_marker(pytest.mark.node)
