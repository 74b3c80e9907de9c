"""All four studies with the run's own numbers in their rows."""

from __future__ import annotations

from app.lab.analysis.analyse import Analysis
from app.lab.analysis.kept import kept
from app.lab.studies.study_beside import StudyBeside
from app.lab.studies.study_edge import beside_edge
from app.lab.studies.study_libraries import beside_libraries
from app.lab.studies.study_redis import beside_redis
from app.lab.studies.study_sse import beside_sse


@kept
def studies_beside(analysis: Analysis) -> tuple[StudyBeside, ...]:
    """The study that the demo repeats first."""
    return tuple(make(analysis) for make in (beside_sse, beside_edge, beside_libraries, beside_redis))
