"""Does the service answer under every address that phones are given, and not only on loopback.

Asked from this machine itself: that shows what the service is bound to. What a firewall or the Wi-Fi does to others
cannot be seen from here; `firewall` and `neighbours` say what is known of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.tools.doctor import ask
from app.tools.doctor.finding import Finding, fail, ok

NAME = "reach"


def look(urls: Sequence[str]) -> Finding:
    """Whether each URL is answered."""
    for url in urls:
        try:
            status, _body = ask.get(url, "/healthz")
        except ask.TROUBLE as trouble:
            return fail(NAME, "silent", url=url, reason=str(trouble) or type(trouble).__name__)
        if status != 200:
            return fail(NAME, "strange", url=url, status=status)
    return ok(NAME, "answers", url=urls[0])
