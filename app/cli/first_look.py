"""Checks of the machine before `serve` and `run --phones` start a service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.core.errors import Unfit
from app.i18n import Words
from app.settings import Settings
from app.tools.doctor import examine, machine_checks, network_checks
from app.tools.doctor.finding import Finding, FindingState
from app.tools.doctor.machine import Machine
from app.tools.doctor.subject import subject_of


def first_look(settings: Settings, words: Words, *, check: bool) -> tuple[Settings, list[Finding]]:
    """Return the settings with a free port, and the findings.

    Raises `Unfit`, which lists everything that prevents a start.

    `check`: run all checks that need no running service; otherwise only the port and whether runs can be written.
    """
    chosen, free = network_checks.check_port(settings.host, settings.port)
    settings = replace(settings, port=chosen)
    subject = subject_of(settings)
    others = (
        examine.of_machine(subject, Machine()) if check else [machine_checks.check_disk(subject.runs_dir)]
    )
    findings = [free, *others]
    _end_if_unfit(findings, words)
    return settings, findings


def _end_if_unfit(findings: Sequence[Finding], words: Words) -> None:
    bad = [each for each in findings if each.state is FindingState.FAIL]
    if bad:
        raise Unfit(" ".join(f"{each.sentence(words)} {each.next_step(words)}" for each in bad))
