"""`study --scheduler` as the documentation calls it, on real studies: the same bits as in this process."""

from __future__ import annotations

import pytest

from impact_studies.frame import cluster
from study_files import TWO_STUDIES, require_same_files, study_command

# Each worker compiles kernels that are not there yet.
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """Files of the studies, computed by one process."""
    directory = tmp_path_factory.mktemp("here")
    study_command(directory, "all", "--quick", "--workers", "1")
    return directory


@pytest.mark.parametrize("name", ["rey_arias_fig3", "all"])
def test_the_command_gives_the_same_on_a_cluster(here, tmp_path, monkeypatch, name):
    asked = []
    compute = cluster.DaskCluster.compute
    monkeypatch.setattr(cluster.DaskCluster, "compute", lambda *given: (asked.extend(given[2]), compute(*given))[1])
    study_command(tmp_path, name, "--quick", "--scheduler", "local:2")
    assert len(asked) == len(list((tmp_path / "caches").rglob("*.npz"))) >= 15
    for study in TWO_STUDIES if name == "all" else [name]:
        require_same_files(here, tmp_path, study)
