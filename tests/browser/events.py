"""What a browser reports by itself, and which of it tells of trouble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

LAST = 20
"""What came last tells most."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the protocol, with the session of the target that it came from."""

    method: str
    params: dict[str, Any]
    session: str | None


def complaint(event: Event) -> str | None:
    """What an event complains of, in one line; `None` when it does not."""
    params = event.params
    if event.method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
        return f"{params['entry']['text']} {params['entry'].get('url', '')}"
    if event.method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
        return f"console.{params['type']}: {params['args']}"
    if event.method == "Runtime.exceptionThrown":
        return f"uncaught: {params['exceptionDetails']}"
    if event.method == "Audits.issueAdded":
        return f"issue: {params['issue']}"
    return None


def troubles(events: Sequence[Event]) -> list[str]:
    """Complaints, refused and failed requests, and requests without an answer; the last ones of them."""
    return [
        *[text for event in events if (text := complaint(event))][-LAST:],
        *list(_requests(events))[-LAST:],
    ]


def _requests(events: Sequence[Event]) -> Iterator[str]:
    open_urls: dict[str, str] = {}
    for event in events:
        number = event.params.get("requestId", "")
        if event.method == "Network.requestWillBeSent":
            open_urls[number] = event.params["request"]["url"]
        elif event.method == "Network.responseReceived" and event.params["response"]["status"] >= 400:
            yield f"{event.params['response']['status']} {event.params['response']['url']}"
        elif event.method == "Network.loadingFailed":
            yield f"{event.params['errorText']} {open_urls.pop(number, '')}"
        elif event.method == "Network.loadingFinished":
            open_urls.pop(number, None)
    yield from (f"no answer yet: {url}" for url in open_urls.values())
