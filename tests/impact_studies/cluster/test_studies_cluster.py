"""Trials on a cluster of Dask on this machine: the same to the last bit, also when a worker is killed in between."""

from __future__ import annotations

import ipaddress
import os
import signal
import subprocess
import sys
import time

import distributed
import numpy as np
import psutil
import pytest
from distributed.utils import json_load_robust

from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_studies.frame import cluster
from impact_studies.frame.computing import InThisProcess, computing_at, open_place
from impact_studies.frame.provenance import versions
from impact_studies.frame.runner import find_study, run_study
from impact_studies.frame.trials import run_trials

# Each worker compiles kernels that are not there yet.
pytestmark = pytest.mark.timeout(300)

CASES = 24


def work(case):
    if case < 0:
        raise ValueError("below zero")
    time.sleep(0.02)
    random = np.random.default_rng(case)
    matrix = random.normal(size=(7, 7))
    return {"solution": np.linalg.solve(matrix, random.normal(size=7)), "process": os.getpid()}


def silent(_done, _text):
    pass


@pytest.fixture(scope="module")
def local():
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": 0}
    with distributed.LocalCluster(n_workers=2, **options) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def dask(local):
    with open_place(1, local.scheduler_address) as place:
        yield place


def test_a_killed_worker_loses_nothing_and_changes_nothing(local, dask, tmp_path):
    with computing_at(InThisProcess()):
        here = run_trials(work, range(CASES), None, silent)
    with distributed.Client(local, set_as_default=False) as client:
        before = set(client.run(os.getpid).values())
        # What the first trial of a worker loads: so that neither has done a third of them before the other begins.
        client.run(work, 0)
        client.run(versions)
    killed = min(before)

    def kill_one(_done, text):
        if text.startswith(f"trial {CASES // 3} "):
            os.kill(killed, signal.SIGKILL)

    with computing_at(dask):
        there = run_trials(work, range(CASES), tmp_path, kill_one)
    processes = {int(one["process"]) for one in there}
    assert before <= processes and os.getpid() not in processes
    for one, other in zip(here, there, strict=True):
        assert one["solution"].tobytes() == other["solution"].tobytes()
    found = []
    with computing_at(InThisProcess()):
        run_trials(work, range(CASES), tmp_path, lambda *step: found.append(step))
    assert found == [(1.0, f"{CASES} of {CASES} trials found")]


def test_a_study_is_the_same_there_though_a_worker_is_killed(local, dask, tmp_path, monkeypatch):
    study = find_study("rey_arias_fig3")
    with distributed.Client(local, set_as_default=False) as client:
        killed = min(client.run(os.getpid).values())

    def kill_one(_done, text):
        if text.startswith("trial 2 "):
            os.kill(killed, signal.SIGKILL)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "here"))
    here = run_study(study, tmp_path / "here", quick=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "there"))
    there = run_study(study, tmp_path / "there", quick=True, progress=kill_one, place=dask)
    with pytest.raises(ProcessLookupError):
        os.kill(killed, 0)
    assert there.result.tables == here.result.tables
    assert there.result.comparisons == here.result.comparisons
    assert there.body == here.body


@pytest.fixture
def doomed(tmp_path):
    """A scheduler in a process of its own, and its address; another process is its worker."""
    file = tmp_path / "scheduler.json"
    # For the worker to find this module.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                f"distributed.cli.dask_{part}",
                "--scheduler-file",
                file,
                "--no-dashboard",
                *options,
            ],
            cwd=tmp_path,
            env=environment,
        )
        for part, options in (("scheduler", ["--port", "0"]), ("worker", ["--nthreads", "1", "--no-nanny"]))
    ]
    try:
        yield started[0], json_load_robust(file, timeout=60.0)["address"]
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_a_scheduler_that_is_lost_is_told_and_the_next_run_goes_on(doomed, tmp_path):
    scheduler, address = doomed

    def kill_scheduler(_done, text):
        if text == f"trial 2 of {CASES}":
            scheduler.kill()

    kept = tmp_path / "kept"
    told = pytest.raises(ImpactControlError, match=r"scheduler is gone.* the same command goes on from there")
    with open_place(1, address) as place, computing_at(place), told:
        run_trials(work, range(CASES), kept, kill_scheduler)
    found = []
    with computing_at(InThisProcess()):
        run_trials(work, range(CASES), kept, lambda *step: found.append(step))
    assert 2 <= round(CASES * found[0][0]) < CASES and found[-1] == (1.0, f"trial {CASES} of {CASES}")


def listening(process):
    """Addresses at which a process waits for TCP connections."""
    sockets = process.net_connections("tcp")
    return {socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN}


def test_a_cluster_of_its_own_is_for_this_machine_only_and_ended():
    with open_place(1, "local:1") as place, computing_at(place):
        (result,) = run_trials(work, [1], None, silent)
        scheduler, worker = map(listening, (psutil.Process(), psutil.Process(int(result["process"]))))
        assert scheduler and worker
        assert all(ipaddress.ip_address(address).is_loopback for address in scheduler | worker)
    with pytest.raises(ProcessLookupError):
        os.kill(int(result["process"]), 0)


def test_an_error_comes_back_with_its_case_and_the_cluster_goes_on(dask):
    with computing_at(dask):
        with pytest.raises(ValueError, match="below zero") as caught:
            run_trials(work, [1, -7], None, silent)
        assert caught.value.__notes__ == ["in the trial -7"]
        assert len(run_trials(work, [5], None, silent)) == 1


@pytest.mark.parametrize("changed", ["source", "scipy", "pinocchio", "scenarios"])
def test_workers_that_compute_with_something_else_are_refused(dask, monkeypatch, changed):
    monkeypatch.setattr(cluster, "versions", lambda: {**versions(), changed: "another"})
    with computing_at(dask), pytest.raises(InvalidInputError, match=f"version of a worker .*'{changed}': 'another'"):
        run_trials(work, [1], None, silent)


@pytest.mark.parametrize("address", ["local:", "local:0", "local:two", "nowhere://here:1", "foo", "tcp://127.0.0.1:1"])
def test_an_address_without_a_scheduler_is_refused_before_a_client_is_made(address, monkeypatch):
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: pytest.fail("it complains when it is collected"))
    with pytest.raises(InvalidInputError, match="local:N"), open_place(1, address):
        pass
