"""`./siar doctor`: check whether machine and network are fit to serve phones and to measure, and suggest remedies."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

from app import clock
from app import settings as settings_module
from app.cli.base_url import is_base_url
from app.cli.measuring import check_json_path
from app.core.errors import Malformed
from app.core.exit_codes import EXIT_OK, EXIT_UNFIT
from app.i18n import LANGUAGES, Words, terminal_language
from app.lab.report.atomic_files import write_atomically
from app.tools.doctor import examine, machine_checks, network_checks, service, show
from app.tools.doctor.finding import Finding, FindingState
from app.tools.doctor.machine import Machine
from app.tools.doctor.subject import Subject, subject_of

HEARTBEAT_SPARE_S = 5.0
"""Upper bound of a heartbeat's delay through a proxy; a later one counts as held back."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that select the service and the output; none is required."""
    parser.add_argument("--host", help="address that would be listened on (default: 0.0.0.0, every network)")
    parser.add_argument("--port", type=int, help="TCP port (default: 8080)")
    parser.add_argument(
        "--url", help="address that phones are given: look at the service there too, as through a proxy"
    )
    parser.add_argument(
        "--json", metavar="PATH", help="write the findings there as well; - is standard output"
    )
    parser.add_argument("--lang", choices=LANGUAGES, help="language of the sentences (default: the locale's)")


def execute(arguments: argparse.Namespace) -> int:
    """Run the checks and print the findings. Returns 3 if something cannot work as it is."""
    words = Words(terminal_language(os.environ, arguments.lang))
    if arguments.url is not None and not is_base_url(arguments.url):
        raise Malformed(f'--url "{arguments.url}": name an address as in https://siar.example/.')
    if arguments.json not in (None, "-"):
        check_json_path(Path(arguments.json))
    settings = settings_module.read(
        os.environ,
        host=arguments.host or os.environ.get("SIAR_HOST") or "0.0.0.0",
        port=arguments.port,
    )
    url = arguments.url and arguments.url.rstrip("/")
    findings = _findings(subject_of(settings), Machine(), url)
    _write(arguments.json, findings, words)
    return EXIT_UNFIT if examine.worst(findings) is FindingState.FAIL else EXIT_OK


def _findings(subject: Subject, machine: Machine, url: str | None) -> list[Finding]:
    since = clock.readings()
    if subject.port and service.runs_at(subject.url(subject.local())):
        findings = [*examine.of_machine(subject, machine), *_of_own(subject), *_of_named(url)]
    elif url is not None and service.runs_at(url):
        return [service.elsewhere(url), *_of_named(url)]
    else:
        chosen, free = network_checks.check_port(subject.host, subject.port)
        subject = replace(subject, port=chosen)
        findings = [free, *examine.of_machine(subject, machine)]
        if free.state is not FindingState.FAIL:
            # Over plain HTTP, because a certificate is only checked on a service that uses one.
            plain = replace(subject, is_secure=False)
            with service.started(plain) as trouble:
                findings += [trouble] if trouble else [*_of_own(plain), *_of_named(url)]
    _wait_until(since.monotonic_us + machine_checks.WINDOW_US_MIN)
    return [*findings, examine.of_clock(since, machine)]


def _of_own(subject: Subject) -> list[Finding]:
    """Check a running service at its own addresses."""
    return examine.of_running([subject.url(each) for each in [*subject.lan(), subject.local()]])


def _of_named(url: str | None) -> list[Finding]:
    """Check the service at the URL that was named, perhaps through a proxy, by what it tells of itself."""
    if url is None:
        return []
    return examine.of_running([url], heartbeat_within_s=service.heartbeat_s(url) + HEARTBEAT_SPARE_S)


def _wait_until(moment_us: float) -> None:
    threading.Event().wait(max(0.0, (moment_us - clock.monotonic_us()) / 1e6))


def _write(path: str | None, findings: list[Finding], words: Words) -> None:
    if path == "-":
        sys.stdout.write(show.as_json(findings, words))
        return
    for line in show.lines(findings, words):
        print(line)
    print(words.say(f"doctor.summary.{examine.worst(findings)}"))
    if path is not None:
        text = show.as_json(findings, words)
        write_atomically(Path(path), lambda file: file.write(text))
