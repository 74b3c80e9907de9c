"""Selection of checks: some before a service starts, the others on a running one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app import clock
from app.tools.doctor import machine_checks, network_checks, service_checks
from app.tools.doctor.finding import Finding, FindingState
from app.tools.doctor.machine import Machine
from app.tools.doctor.subject import Subject


def of_machine(subject: Subject, machine: Machine) -> list[Finding]:
    """Make all checks that need no running service, except that of the port, which must have been chosen before."""
    return [
        network_checks.check_address(subject),
        network_checks.check_firewall(subject, machine),
        network_checks.check_neighbours(subject, machine),
        machine_checks.check_open_files(subject),
        machine_checks.check_processor(machine),
        machine_checks.check_disk(subject.runs_dir),
    ]


def of_running(
    urls: Sequence[str], *, authority: str | None = None, heartbeat_within_s: float | None = None
) -> list[Finding]:
    """Check a service as a client sees it: an answer at every URL; streams and certificate at the first one.

    `heartbeat_within_s`: given if the URL leads through a proxy, which may change responses or hold them back.
    """
    reached = service_checks.check_reach(urls)
    if reached.state is FindingState.FAIL:
        return [reached]
    url, is_direct = urls[0], heartbeat_within_s is None
    certificate = service_checks.check_certificate(url, authority=authority)
    through_proxy = [] if is_direct else [service_checks.check_page(url), service_checks.check_origin(url)]
    stream = service_checks.check_first_byte(url, heartbeat_within_s=heartbeat_within_s)
    upgrade = service_checks.check_upgrade(url)
    return [reached, *([certificate] if certificate else []), *through_proxy, stream, upgrade]


def of_clock(since: clock.Readings, machine: Machine) -> Finding:
    """Check the clocks since an earlier reading, which must be at least `WINDOW_US_MIN` ago."""
    return machine_checks.check_clock(since, clock.readings(), machine)


def worst(findings: Iterable[Finding]) -> FindingState:
    """Return the worst state among the findings; OK if there are none."""
    order = (FindingState.OK, FindingState.WARN, FindingState.FAIL)
    return max((finding.state for finding in findings), key=order.index, default=FindingState.OK)
