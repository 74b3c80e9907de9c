"""A service looks at itself once it is ready, as a client would, and says in the terminal what it saw."""

from __future__ import annotations

import threading
from collections.abc import Callable

from app import clock
from app.catalogues import Words
from app.doctor import ask, examine, show, steady_clock
from app.doctor.finding import Finding, State
from app.doctor.machine import Machine
from app.doctor.subject import Subject

READY_TIMEOUT_S = 60.0
"""What takes longer has said why itself."""

_POLL_S = 0.1


def watch(
    subject: Subject, words: Words, say: Callable[[str], None], *, authority: str | None = None
) -> None:
    """Start looking, in a thread of its own that ends by itself."""
    since = clock.readings()

    def look() -> None:
        if _is_ready(subject):
            for line in report(_findings(subject, since, authority), words):
                say(line)

    threading.Thread(target=look, name="siar-self-check", daemon=True).start()


def report(findings: list[Finding], words: Words) -> list[str]:
    """What is wrong, line by line; or one line that nothing is."""
    wrong = [each for each in findings if each.state is not State.OK]
    if wrong:
        return list(show.lines(wrong, words))
    took_ms = next((each.places["took_ms"] for each in findings if "took_ms" in each.places), "?")
    url = next((each.places["url"] for each in findings if "url" in each.places), "")
    return [f"  {words.say('serve.ready', url=url, took_ms=took_ms)}"]


def _findings(subject: Subject, since: clock.Readings, authority: str | None) -> list[Finding]:
    urls = [subject.url(address) for address in [*subject.lan(), subject.local()]]
    findings = examine.of_running(urls, authority=authority)
    left_us = since.monotonic_us + steady_clock.WINDOW_US_MIN - clock.monotonic_us()
    threading.Event().wait(max(0.0, left_us / 1e6))
    return [*findings, examine.of_clock(since, Machine())]


def _is_ready(subject: Subject) -> bool:
    """Once it answers; false when it does not in a minute."""
    url = subject.url(subject.local())
    until_us = clock.monotonic_us() + round(READY_TIMEOUT_S * 1e6)
    while clock.monotonic_us() < until_us:
        try:
            if ask.get(url, "/readyz")[0] == 200:
                return True
        except ask.TROUBLE:
            pass  # Not yet: that is what is waited for.
        threading.Event().wait(_POLL_S)
    return False
