"""Results of the source documents, computed again: one module a study, `impact-control study NAME` runs it.

`study` says what a study is, `registry` finds them, `runner` runs one, `report` and `terminal` show what came out.
Every other module here is a study: it defines `STUDY`. What a study needs besides lies in a package beside it.
"""

from impact_control.studies.registry import available_studies, find_study
from impact_control.studies.runner import run_study
from impact_control.studies.study import Column, Finding, Mark, Study, StudyData, StudyFigure, StudyResult, Table

__all__ = [
    "Column",
    "Finding",
    "Mark",
    "Study",
    "StudyData",
    "StudyFigure",
    "StudyResult",
    "Table",
    "available_studies",
    "find_study",
    "run_study",
]
