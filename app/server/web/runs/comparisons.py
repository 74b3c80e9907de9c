"""`GET /api/comparisons?run=&run=`: a page that compares runs with the first one, sandboxed. Operator only."""

from __future__ import annotations

import flask

from app.core.errors import Malformed
from app.i18n import refusal
from app.server.web import locale
from app.server.web.auth import require_operator
from app.server.web.runs import background_jobs
from app.server.web.runs.runs import sandboxed

blueprint = flask.Blueprint("comparisons", __name__)

RUNS_MAX = 8
"""More columns do not fit on a page."""


@blueprint.get("/api/comparisons")
def compare() -> flask.Response:
    """Return the comparison page; if the runs are not comparable, it says why."""
    require_operator()
    runs = flask.request.args.getlist("run")
    if not 2 <= len(runs) <= RUNS_MAX:
        raise Malformed(refusal("runs_to_compare", count=RUNS_MAX))
    if len(set(runs)) < len(runs):
        raise Malformed(refusal("run_named_twice"))
    return sandboxed(background_jobs.compare_runs(runs, locale.language()))
