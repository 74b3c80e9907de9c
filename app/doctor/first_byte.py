"""Does the first byte of an event stream come at once, or does something on the way collect bytes before it passes them on.

A proxy that does (one that compresses streams, a company's web filter) makes notifications late, and nothing in the
answer's headers shows it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from app import clock
from app.doctor import ask
from app.doctor.finding import Finding, fail, ok, warn

NAME = "first_byte"

PATH = "/events?topic=siar-self-check"
"""On a topic of its own, so that what is published meanwhile does not count this as a recipient."""

PROMPT_MS = 500
"""A loaded machine answers in tens of milliseconds."""


def look(url: str) -> Finding:
    """How long the first byte of `/events` took, from the request on."""
    link = ask.connection(url)
    try:
        asked_us = clock.monotonic_us()
        link.request("GET", urlsplit(url).path.rstrip("/") + PATH, headers={"Accept": "text/event-stream"})
        answer = link.getresponse()
        if answer.status != 200:
            return fail(NAME, "no_stream", url=url, status=answer.status)
        try:
            first = answer.read(1)
        except TimeoutError:
            return fail(NAME, "held_back", url=url, timeout_s=round(ask.TIMEOUT_S))
        took_ms = (clock.monotonic_us() - asked_us) / 1000
    except ask.TROUBLE as trouble:
        return fail(NAME, "no_answer", url=url, reason=str(trouble) or type(trouble).__name__)
    finally:
        link.close()
    if not first:
        return fail(NAME, "ended", url=url)
    places = {"url": url, "took_ms": f"{took_ms:.0f}"}
    return ok(NAME, "prompt", **places) if took_ms < PROMPT_MS else warn(NAME, "slow", **places)
