"""`GET /api/screen?key=`: the big screen's view of the room. Its link permits reading only."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import flask
import segno
from werkzeug.exceptions import Forbidden

from app.i18n import refusal
from app.server.room import views
from app.server.web import body, locale
from app.server.web.current import services
from app.server.web.room.join_link import join_url, reaches_this_machine_only

blueprint = flask.Blueprint("screen_data", __name__)

QUIET_ZONE = 4
"""Width of the margin in modules, without which readers miss the code (ISO/IEC 18004, section 5.3.8)."""

CODES_KEPT_MAX = 16


@dataclass(frozen=True, slots=True)
class QrPath:
    """A QR code as one SVG path, in a `viewBox="0 0 size size"`. The page draws it in any size and colour without an image."""

    size: int
    """Width in modules, including the quiet zone."""
    path: str
    """The `d` of one filled path: a rectangle for each run of dark modules in a row."""


def require_screen_key() -> None:
    """Raise 403 unless the request carries the big screen's key."""
    if not services().invitation.is_screen_key(flask.request.args.get("key", "")):
        raise Forbidden(refusal("wrong_screen_key"))


DOWNLOADS = ("report", "export.zip")
"""Last part of each download's path, the same for the screen and the operator."""


def offered(result: dict[str, Any] | None, run: str | None, key: str) -> list[dict[str, str]]:
    """Return a result's downloads under the URLs that the screen's key opens (screen_downloads.py)."""
    urls = {f"/api/runs/{run}/{name}": f"/api/screen/{name}?key={key}" for name in DOWNLOADS}
    return [
        {"name": each["name"], "url": urls[each["url"]]}
        for each in (result or {}).get("downloads", [])
        if each["url"] in urls
    ]


@blueprint.get("/api/screen")
def screen() -> flask.Response:
    """Return the room by seats and names, and how to join it."""
    require_screen_key()
    url = join_url()
    code = qr_path(url)
    seen = views.screen(services().room, locale.language())
    if seen["result"] is not None:
        downloads = offered(seen["result"], seen["run"], flask.request.args["key"])
        seen["result"] = {**seen["result"], "downloads": downloads}
    answer = body.answer(
        **seen,
        join_code=services().invitation.code,
        join_code_required=services().settings.join_code,
        join_url=url,
        join_url_is_local=reaches_this_machine_only(url),
        qr={"size": code.size, "path": code.path},
    )
    answer.headers["Cache-Control"] = "no-store"
    return answer


@functools.lru_cache(CODES_KEPT_MAX)
def qr_path(text: str) -> QrPath:
    """Return the QR code of `text`, with error correction M or a higher level where the code does not grow by it."""
    matrix = segno.make(text, error="m", micro=False).matrix
    pieces: list[str] = []
    for y, row in enumerate(matrix, start=QUIET_ZONE):
        x = 0
        while x < len(row):
            if not row[x]:
                x += 1
                continue
            begin = x
            while x < len(row) and row[x]:
                x += 1
            pieces.append(f"M{begin + QUIET_ZONE} {y}h{x - begin}v1H{begin + QUIET_ZONE}z")
    return QrPath(len(matrix) + 2 * QUIET_ZONE, "".join(pieces))
