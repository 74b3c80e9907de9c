"""`GET /api/presets`: predefined experiments. Operator only."""

from __future__ import annotations

import flask
import msgspec

from app.core.errors import Malformed
from app.core.plan.scenario import plan_to_json
from app.i18n import refusal
from app.server.web import body
from app.server.web.auth import require_operator
from app.store.presets import PHONES_MAX, PRESETS, length_s

blueprint = flask.Blueprint("presets", __name__)

PHONES = 6
"""Default number of phones: that of the published study."""


@blueprint.get("/api/presets")
def presets() -> flask.Response:
    """Return each preset with its plan and its length for `?phones=`."""
    require_operator()
    phones = _phones(flask.request.args.get("phones", str(PHONES)))
    found = []
    for each in PRESETS:
        plan = each.make(phones)
        found.append(
            {
                "id": each.id,
                "title_key": each.title_key,
                "text_key": each.text_key,
                "plan": plan_to_json(plan),
                "length_s": round(length_s(plan, built_in=each.built_in)),
                "built_in": each.built_in,
            }
        )
    return flask.Response(msgspec.json.encode(found), content_type=body.CONTENT_TYPE)


def _phones(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= PHONES_MAX:
        return int(text)
    raise Malformed(refusal("phones_out_of_range", count=PHONES_MAX))
