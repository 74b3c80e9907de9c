"""Check a service that has just started as a client sees it, and print the findings in its terminal.

    python -P -m app.tools.doctor.after_start     (with the service's own settings in the environment)

This is a short-lived child of the service: it exits after printing, or when its parent exits.
"""

from __future__ import annotations

import os
import sys
import threading

from app import clock
from app import settings as settings_module
from app.core.exit_codes import EXIT_OK
from app.i18n import Words, terminal_language
from app.tools.doctor import ask, examine, machine_checks, show
from app.tools.doctor.finding import Finding, FindingState
from app.tools.doctor.machine import Machine
from app.tools.doctor.subject import Subject, subject_of

READY_TIMEOUT_S = 60.0
"""A start that takes longer has printed the reason itself."""

_POLL_S = 0.1


def main() -> int:
    """Wait until the service is ready, check it and print the findings. Returns the exit code 0."""
    since = clock.readings()
    settings = settings_module.read(os.environ)
    subject, parent_pid = subject_of(settings), os.getppid()
    if not _is_ready(subject, parent_pid=parent_pid):
        return EXIT_OK
    words = Words(terminal_language(os.environ, settings.language))
    findings = look(subject, since, authority=settings.tls_authority or None)
    if os.getppid() == parent_pid:  # Findings about a service that has ended meanwhile would be misleading.
        print("\n".join(report(findings, words)), flush=True)
    return EXIT_OK


def report(findings: list[Finding], words: Words) -> list[str]:
    """Return the lines for all findings that are not OK, or one line that the service is ready."""
    wrong = [each for each in findings if each.state is not FindingState.OK]
    if wrong:
        return list(show.lines(wrong, words))
    took_ms = next((each.places["took_ms"] for each in findings if "took_ms" in each.places), "?")
    url = next((each.places["url"] for each in findings if "url" in each.places), "")
    return [f"  {words.say('serve.ready', url=url, took_ms=took_ms)}"]


def look(subject: Subject, since: clock.Readings, *, authority: str | None) -> list[Finding]:
    """Check a service that is ready as a client sees it, and the clocks since the reading `since`.

    `authority`: a file with a certificate that devices are told to trust.
    """
    urls = [subject.url(address) for address in [*subject.lan(), subject.local()]]
    findings = examine.of_running(urls, authority=authority)
    left_us = since.monotonic_us + machine_checks.WINDOW_US_MIN - clock.monotonic_us()
    threading.Event().wait(max(0.0, left_us / 1e6))
    return [*findings, examine.of_clock(since, Machine())]


def _is_ready(subject: Subject, *, parent_pid: int) -> bool:
    """Wait until the service answers. Returns false if it does not within a minute, or has ended."""
    url = subject.url(subject.local())
    until_us = clock.monotonic_us() + round(READY_TIMEOUT_S * 1e6)
    while clock.monotonic_us() < until_us and os.getppid() == parent_pid:
        try:
            if ask.get(url, "/readyz")[0] == 200:
                return True
        except ask.TROUBLE:
            pass  # Not listening yet.
        threading.Event().wait(_POLL_S)
    return False


if __name__ == "__main__":
    sys.exit(main())
