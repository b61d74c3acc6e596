"""Trials on a cluster of Dask: `make cluster` installs it, nothing else needs it."""

from __future__ import annotations

import importlib
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from impact_control.util.errors import ImpactControlError, InvalidInputError, MissingDependencyError
from impact_studies.frame.computing import Case, Computed, Experiment, Take, compute_case_alone, interruption_kept_back
from impact_studies.frame.provenance import versions

LOCAL = "local:"
"""Before the number of processes of a cluster that is started on this machine, and ends with the run."""

LOCALHOST = "127.0.0.1"
"""Address of scheduler, workers and page of such a cluster: a client that reaches a scheduler may run code."""

PATIENCE = 10.0
"""[s] a scheduler may take to answer."""


class DaskCluster:
    """Workers of a scheduler. What a lost worker had to do is done again by another one."""

    def __init__(self, client: Any) -> None:
        """client: a `distributed.Client`."""
        self._client = client

    def compute(self, function: Experiment[Case], cases: Sequence[Case], take: Take) -> None:
        """See `Place`; when it is interrupted, what is running on the cluster is given up.

        Raises ImpactControlError when a trial has taken several workers down with it or the scheduler is lost, and
        InvalidInputError for workers that compute with something else than this process, or have other scenarios.
        """
        distributed = _distributed()
        work = partial(_compute_as_here, function, versions())
        # Not pure: each case is a task of its own, and results are kept by us.
        numbers = {future: index for index, future in enumerate(self._client.map(work, cases, pure=False))}
        try:
            for future, computed in distributed.as_completed(list(numbers), loop=self._client.loop, with_results=True):
                if not isinstance(computed, Computed):
                    # What Dask hands over for all that was asked for when it has lost the scheduler.
                    raise ImpactControlError(
                        "the scheduler is gone, and with it what its workers compute; "
                        "finished trials are kept, the same command goes on from there"
                    ) from computed
                take(numbers.pop(future), computed)
        except distributed.KilledWorker as error:
            raise ImpactControlError(
                f"workers of the cluster ended while they computed a trial: {error}; finished trials are kept"
            ) from error
        finally:
            self._client.cancel(list(numbers))


@contextmanager
def cluster(address: str) -> Iterator[DaskCluster]:
    """Return the cluster of a scheduler, `tcp://HOST:PORT`, or with `local:N` one of N new processes here.

    Raises MissingDependencyError without Dask, InvalidInputError for an address where no scheduler answers.
    """
    distributed = _distributed()
    allowed = "local:N, or the address of a scheduler that answers, like tcp://HOST:8786"
    options = {"set_as_default": False}
    if address.startswith(LOCAL):
        count = address.removeprefix(LOCAL)
        if not count.isdecimal() or int(count) < 1:
            raise InvalidInputError("scheduler", address, allowed)
        with interruption_kept_back():
            local = distributed.LocalCluster(
                n_workers=int(count),
                threads_per_worker=1,
                host=LOCALHOST,
                dashboard_address=f"{LOCALHOST}:0",
                memory_limit=0,
            )
        with local, distributed.Client(local, **options) as client:
            yield DaskCluster(client)
        return
    try:
        _require_listener(address)
        client = distributed.Client(address, timeout=PATIENCE, **options)
    except (OSError, ValueError) as error:
        raise InvalidInputError("scheduler", address, allowed) from error
    with client:
        yield DaskCluster(client)


def _require_listener(address: str) -> None:
    """Raise OSError or ValueError without a listener: a client of Dask retries for longer, then logs errors."""
    place = urlsplit(address if "://" in address else f"tcp://{address}")
    if not place.hostname or not place.port:
        raise ValueError("no host and port")
    socket.create_connection((place.hostname, place.port), PATIENCE).close()


def _compute_as_here(function: Experiment[Case], asked: Mapping[str, str], case: Case) -> Computed:
    """Compute a trial on a worker. Raises InvalidInputError where not all is as with the one who asks."""
    other = {name: here for name, here in versions().items() if here != asked.get(name)}
    if other:
        allowed = f"{ {name: asked.get(name) for name in other} }, which is that of who asks it"
        raise InvalidInputError("version of a worker", other, allowed)
    return compute_case_alone(function, case)


def _distributed() -> Any:
    """Return the library, which is only needed here."""
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise MissingDependencyError("--scheduler needs Dask: make cluster") from error
