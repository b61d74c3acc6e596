"""`study all` as the documentation calls it, on two real studies: in this process and on processes, the same bits."""

from __future__ import annotations

from impact_studies.frame import computing
from study_files import TWO_STUDIES, require_same_files, study_command


def test_all_is_the_same_in_this_process_and_on_others(tmp_path, monkeypatch):
    started = []
    opened = computing.ProcessPool.__init__
    monkeypatch.setattr(
        computing.ProcessPool, "__init__", lambda pool, workers: (started.append(workers), opened(pool, workers))[1]
    )
    here = study_command(tmp_path / "here", "all", "--quick", "--workers", "1")
    assert started == []
    there = study_command(tmp_path / "there", "all", "--quick", "--workers", "2")
    assert started == [2]
    for name in TWO_STUDIES:
        assert f"\u2713 {name} " in here and f"\u2713 {name} " in there
        require_same_files(tmp_path / "here", tmp_path / "there", name)
    page = (tmp_path / "here" / "all" / "report.html").read_text()
    assert "2 of 2 studies hold." in page
    assert all(f'<article id="{name}">' in page for name in TWO_STUDIES)
