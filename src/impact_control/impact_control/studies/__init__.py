"""Results of the source documents, computed again: one module a study, `impact-control study NAME` runs it.

`study` says what a study is, `registry` finds them, `runner` runs one and `every` all of them, `trials` keeps what was
computed, `computing` and `cluster` say where, `directories` is where they write to, `report`, `results` and `terminal`
show what came out, and `provenance` and `software` from what.
Every other module here is a study: it defines `STUDY`. What a study needs besides lies in a package beside it.
"""

from impact_control.studies.computing import open_place
from impact_control.studies.registry import ALL, available_studies, find_studies, find_study
from impact_control.studies.runner import StudyRun, run_study
from impact_control.studies.study import (
    Column,
    Comparison,
    Finding,
    Mark,
    Study,
    StudyData,
    StudyFigure,
    StudyResult,
    Table,
)

__all__ = [
    "ALL",
    "Column",
    "Comparison",
    "Finding",
    "Mark",
    "Study",
    "StudyData",
    "StudyFigure",
    "StudyResult",
    "StudyRun",
    "Table",
    "available_studies",
    "find_studies",
    "find_study",
    "open_place",
    "run_study",
]
