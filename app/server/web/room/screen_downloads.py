"""Downloads of the big screen, for its link: report and export of the room's finished run, and of no other."""

from __future__ import annotations

import flask

from app.core.errors import Unknown
from app.i18n import refusal
from app.server.room.phases import Phase
from app.server.web.current import services
from app.server.web.room.screen_data import offered, require_screen_key
from app.server.web.runs.runs import as_report, as_zip

blueprint = flask.Blueprint("screen_downloads", __name__, url_prefix="/api/screen")


@blueprint.get("/report")
def report() -> flask.Response:
    """Return the report of the run that has just finished."""
    require_screen_key()
    return as_report(_offered("report"))


@blueprint.get("/export.zip")
def export() -> flask.Response:
    """Return the export of that run, with pseudonyms."""
    require_screen_key()
    return as_zip(_offered("export.zip"))


def _offered(name: str) -> str:
    """Return the room's run if it has finished and offers this download. Raises `Unknown`."""
    room = services().room
    with room.lock:
        run = room.experiment.run if room.experiment is not None else None
        links = offered(room.result, run, "") if room.phase is Phase.FINISHED else []
    if run is None or not any(each["url"].startswith(f"/api/screen/{name}?") for each in links):
        raise Unknown(refusal("screen_offers_nothing"))
    return run
