"""Which checks are made when: some before a service starts, the others on the one that runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app import clock
from app.tools.doctor import (
    address,
    certificate,
    disk,
    files,
    firewall,
    first_byte,
    neighbours,
    origin,
    page_files,
    processor,
    reach,
    steady_clock,
    upgrade,
)
from app.tools.doctor.finding import Finding, FindingState
from app.tools.doctor.machine import Machine
from app.tools.doctor.subject import Subject


def of_machine(subject: Subject, machine: Machine) -> list[Finding]:
    """Everything that can be told without a service, but for the port, which a running one has. It must have been chosen."""
    return [
        address.look(subject),
        firewall.look(subject, machine),
        neighbours.look(subject, machine),
        files.look(subject),
        processor.look(machine),
        disk.look(subject.runs_dir),
    ]


def of_running(
    urls: Sequence[str], *, authority: str | None = None, heartbeat_within_s: float | None = None
) -> list[Finding]:
    """Examine a service as a client meets it: at every URL an answer; at the first one the streams and the certificate.

    `heartbeat_within_s`: given where something may stand in between, which can change or hold back what passes it.
    """
    reached = reach.look(urls)
    if reached.state is FindingState.FAIL:
        return [reached]
    seen = certificate.look(urls[0], authority=authority)
    through = [] if heartbeat_within_s is None else [page_files.look(urls[0]), origin.look(urls[0])]
    stream = first_byte.look(urls[0], heartbeat_within_s=heartbeat_within_s)
    return [reached, *([seen] if seen else []), *through, stream, upgrade.look(urls[0])]


def of_clock(since: clock.Readings, machine: Machine) -> Finding:
    """How the clocks went since then. The caller has waited long enough."""
    return steady_clock.look(since, clock.readings(), machine)


def worst(findings: Iterable[Finding]) -> FindingState:
    """The worst state among them."""
    order = (FindingState.OK, FindingState.WARN, FindingState.FAIL)
    return max((finding.state for finding in findings), key=order.index, default=FindingState.OK)
