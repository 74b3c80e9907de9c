"""`/ca.crt`: the authority's certificate that phones install to trust this server, if `serve --https ca` made one.

It is public. Over a connection that is not trusted yet, the user compares its fingerprint with the terminal's.
"""

from __future__ import annotations

from pathlib import Path

import flask

from app.core.errors import Unknown
from app.i18n import refusal
from app.server.web.current import services

blueprint = flask.Blueprint("authority", __name__)

CONTENT_TYPE = "application/x-x509-ca-cert"
"""The type for which phones offer to install the certificate instead of showing text."""


@blueprint.get("/ca.crt")
def read() -> flask.Response:
    """Return the authority's certificate in PEM form."""
    path = services().settings.tls_authority
    if not path:
        raise Unknown(refusal("no_authority"))
    answer = flask.Response(Path(path).read_bytes(), content_type=CONTENT_TYPE)
    answer.headers["Content-Disposition"] = 'attachment; filename="siar-ca.crt"'
    answer.headers["Cache-Control"] = "no-cache"
    return answer
