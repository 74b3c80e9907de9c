"""A service that has just started is looked at as a client sees it, and what was seen is said in its terminal.

    python -P -m app.tools.doctor.after_start     (with the service's own settings in the environment)

A short-lived child of the service: it ends when it has said its lines, or when its parent does.
"""

from __future__ import annotations

import os
import sys
import threading

from app import clock
from app import settings as settings_module
from app.i18n import Words, terminal_language
from app.tools.doctor import ask, examine, show, steady_clock
from app.tools.doctor.finding import Finding, FindingState
from app.tools.doctor.machine import Machine
from app.tools.doctor.subject import Subject, subject_of

READY_TIMEOUT_S = 60.0
"""What takes longer has said why itself."""

_POLL_S = 0.1


def main() -> int:
    """Wait until it is ready, look, say."""
    since = clock.readings()
    settings = settings_module.read(os.environ)
    subject, parent_pid = subject_of(settings), os.getppid()
    if not _is_ready(subject, parent_pid=parent_pid):
        return 0
    words = Words(terminal_language(os.environ, settings.language))
    findings = look(subject, since, authority=settings.tls_authority or None)
    if os.getppid() == parent_pid:  # Of one that ended meanwhile, nothing but its end was seen.
        print("\n".join(report(findings, words)), flush=True)
    return 0


def report(findings: list[Finding], words: Words) -> list[str]:
    """What is wrong, line by line; or one line that nothing is."""
    wrong = [each for each in findings if each.state is not FindingState.OK]
    if wrong:
        return list(show.lines(wrong, words))
    took_ms = next((each.places["took_ms"] for each in findings if "took_ms" in each.places), "?")
    url = next((each.places["url"] for each in findings if "url" in each.places), "")
    return [f"  {words.say('serve.ready', url=url, took_ms=took_ms)}"]


def look(subject: Subject, since: clock.Readings, *, authority: str | None) -> list[Finding]:
    """What a client meets at a service that is ready, and how the clocks went `since` then.

    `authority`: a file with a certificate that devices are told to trust.
    """
    urls = [subject.url(address) for address in [*subject.lan(), subject.local()]]
    findings = examine.of_running(urls, authority=authority)
    left_us = since.monotonic_us + steady_clock.WINDOW_US_MIN - clock.monotonic_us()
    threading.Event().wait(max(0.0, left_us / 1e6))
    return [*findings, examine.of_clock(since, Machine())]


def _is_ready(subject: Subject, *, parent_pid: int) -> bool:
    """Once it answers; false when it does not in a minute, or ended."""
    url = subject.url(subject.local())
    until_us = clock.monotonic_us() + round(READY_TIMEOUT_S * 1e6)
    while clock.monotonic_us() < until_us and os.getppid() == parent_pid:
        try:
            if ask.get(url, "/readyz")[0] == 200:
                return True
        except ask.TROUBLE:
            pass  # Not yet: that is what is waited for.
        threading.Event().wait(_POLL_S)
    return False


if __name__ == "__main__":
    sys.exit(main())
