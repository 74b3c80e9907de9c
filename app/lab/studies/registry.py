"""The list of the four published studies that reports show."""

from __future__ import annotations

from app.lab.analysis.analyse import Analysis
from app.lab.analysis.cached import computed_once
from app.lab.studies.edge import edge_tables
from app.lab.studies.libraries import library_tables
from app.lab.studies.redis import redis_tables
from app.lab.studies.sse import sse_tables
from app.lab.studies.tables import StudyTables


@computed_once
def all_study_tables(analysis: Analysis) -> tuple[StudyTables, ...]:
    """Return each study with the run's figures in its rows; the study that the demo repeats comes first."""
    return tuple(make(analysis) for make in (sse_tables, edge_tables, library_tables, redis_tables))
