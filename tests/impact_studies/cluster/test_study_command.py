"""`study all` as documented, on two real studies: the same bits in this process, on others and on a cluster."""

from __future__ import annotations

import pytest

from impact_studies.frame import cluster, computing
from study_files import TWO_STUDIES, require_same_files, study_command

# Each worker compiles kernels that are not there yet.
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """Files of the studies, computed by one process, and what it printed."""
    directory = tmp_path_factory.mktemp("here")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(computing, "ProcessPool", None)
        return directory, study_command(directory, "all", "--quick", "--workers", "1")


def test_all_is_the_same_on_other_processes(here, tmp_path, monkeypatch):
    started = []
    opened = computing.ProcessPool.__init__
    monkeypatch.setattr(
        computing.ProcessPool, "__init__", lambda pool, workers: (started.append(workers), opened(pool, workers))[1]
    )
    directory, printed = here
    there = study_command(tmp_path, "all", "--quick", "--workers", "2")
    assert started == [2]
    for name in TWO_STUDIES:
        assert f"\u2713 {name} " in printed and f"\u2713 {name} " in there
        require_same_files(directory, tmp_path, name)
    page = (directory / "all" / "report.html").read_text()
    assert "2 of 2 studies hold." in page
    assert all(f'<article id="{name}">' in page for name in TWO_STUDIES)


def test_all_is_the_same_on_a_cluster(here, tmp_path, monkeypatch):
    asked = []
    compute = cluster.DaskCluster.compute
    monkeypatch.setattr(cluster.DaskCluster, "compute", lambda *given: (asked.extend(given[2]), compute(*given))[1])
    study_command(tmp_path, "all", "--quick", "--scheduler", "local:2")
    assert len(asked) == len(list((tmp_path / "caches").rglob("*.npz"))) >= 15
    for name in TWO_STUDIES:
        require_same_files(here[0], tmp_path, name)
