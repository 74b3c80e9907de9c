"""Does a page's own request get through: a browser says with each POST from where the page came.

A proxy that puts its own name in the place of `Host` makes the service's page look like another site's.
"""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from app.settings import is_loopback
from app.tools.doctor import ask
from app.tools.doctor.finding import Finding, fail, ok

NAME = "origin"

PATH = "/api/deliveries"

FOREIGN = "foreign_origin"


def look(url: str) -> Finding:
    """Check that a POST as a browser sends it is let in. It delivers nothing, and is refused for that alone."""
    try:
        answer = ask.request("POST", url.rstrip("/") + PATH, headers=_headers(url), body=b"{}")
        code = json.loads(answer.body).get("code")
    except (
        *ask.TROUBLE,
        AttributeError,
    ) as trouble:  # No JSON is a `ValueError`; what is no object has no `get`.
        return fail(NAME, "no_answer", url=url, reason=str(trouble) or type(trouble).__name__)
    if code == FOREIGN:
        return fail(NAME, "refused", url=url)
    if answer.status != 400 or not code:
        return fail(NAME, "strange", url=url, status=answer.status)
    return ok(NAME, "accepted", url=url)


def origin_of(url: str) -> str:
    """As a browser says it with what a page of this URL asks for."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _headers(url: str) -> dict[str, str]:
    """Headers that a browser adds; the last one where nobody in between can have written the page."""
    parts = urlsplit(url)
    headers = {"Content-Type": "application/json", "Origin": origin_of(url)}
    is_safe = parts.scheme == "https" or is_loopback(parts.hostname or "")
    return {**headers, "Sec-Fetch-Site": "same-origin"} if is_safe else headers
