"""A loaded machine: one busy process on each core."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loaded_cores() -> Iterator[None]:
    """Keep every core that this process may use busy, at ordinary priority, until the context is left."""
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_keep_busy, args=(core, os.getpid()), daemon=True)
        for core in sorted(os.sched_getaffinity(0))
    ]
    try:
        for process in processes:
            process.start()
        yield
    finally:
        for process in processes:
            if process.pid is not None:
                process.kill()
                process.join()


def _keep_busy(core: int, parent: int) -> None:
    """Compute on a core as long as the parent lives, however that ends."""
    os.sched_setaffinity(0, {core})
    while os.getppid() == parent:
        for _ in range(100_000):
            pass
