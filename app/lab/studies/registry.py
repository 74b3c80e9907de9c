"""The list of the four published studies that reports show."""

from __future__ import annotations

from app.lab.analysis.analyse import Analysis
from app.lab.analysis.cached import computed_once
from app.lab.studies.edge import beside_edge
from app.lab.studies.libraries import beside_libraries
from app.lab.studies.redis import beside_redis
from app.lab.studies.row import StudyBeside
from app.lab.studies.sse import beside_sse


@computed_once
def studies_beside(analysis: Analysis) -> tuple[StudyBeside, ...]:
    """Return each study with the run's figures in its rows; the study that the demo repeats comes first."""
    return tuple(make(analysis) for make in (beside_sse, beside_edge, beside_libraries, beside_redis))
