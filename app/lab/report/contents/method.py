"""Description of how a run was measured: paragraphs for its report, and a line of settings below each figure."""

from __future__ import annotations

from app.lab.analysis.analyse import Analysis
from app.lab.analysis.words import clients, count_of, listing
from app.lab.report.statements import receivers


def method(analysis: Analysis) -> list[str]:
    """Return paragraphs on load, order of trials, clocks, quantiles, CPU and statistics."""
    plan = analysis.run.plan
    return [
        f"One source sent {count_of(plan.notifications, 'notification')} per trial, {plan.rate_hz:g} a second, "
        f"{plan.payload_bytes} bytes each, after {plan.warmup_notifications} for warm-up, which count nowhere; "
        f"{_receivers(analysis)} received them over the same server, one arm at a time.",
        f"{count_of(plan.blocks, 'block')} for each count of clients ({listing([str(n) for n in sorted(plan.client_counts)])}). "
        f"A block has one trial per arm in random order (seed {plan.seed}), the next one mirrors it, and each has an "
        f"idle window of {plan.idle_s:g} s. A block with a void trial is left out and repeated.",
        "Delay counts from when a notification was due, so that a late source cannot hide, to the stamp that the client "
        "takes right after its read. A client's clock is put into server time with a hard error bound, which is given "
        "for each trial. Where the kernel stamps receipt, its median is given too: the client's own share is not in it.",
        "A trial's median is the median of its clients' medians; so are its other quantiles. A p95 needs 100 "
        "notifications and a p99 needs 500; below, there is none. Jitter is RFC 3550's J at the end of a trial, from sent "
        "stamps; from 0 it needs some 16 notifications for two thirds of its way, in all arms alike.",
        "Server CPU is the process tree's own clock, less its rate in the idle window of the same block. On loopback the "
        "kernel charges receiving to the sender, so the server looks dearer than on a real network.",
        "Intervals are exact signed-rank intervals of block differences, never of pooled samples, which would find "
        "differences that are not there. Delay at each count of clients is the one confirmatory family; its verdicts "
        "hold together at 5 % (Holm). CPU and jitter are secondary, with Holm among themselves. Below 8 blocks there is no "
        "verdict. Equivalent means: the exact 90 % interval lies within the margin that the plan fixed "
        f"({_margins(plan.environment)}).",
    ]


def settings_line(analysis: Analysis) -> str:
    """Return the run's settings in one line, so that a figure can be read outside its report."""
    plan = analysis.run.plan
    counts = listing([str(n) for n in sorted(plan.client_counts)])
    ones = clients(1) if counts == "1" else f"{counts} clients"
    return (
        f"Run {analysis.run.id}, {receivers(analysis)}: {ones}, {count_of(plan.blocks, 'block')} each, "
        f"{count_of(plan.notifications, 'notification')} of {plan.payload_bytes} bytes per trial, {plan.rate_hz:g} a second."
    )


def _receivers(analysis: Analysis) -> str:
    if analysis.phones:
        return f"{receivers(analysis)} on the network ({analysis.run.plan.environment})"
    if analysis.run.simulated:
        return "built-in clients (simulated: one process on this machine, no phones)"
    return "real devices"


def _margins(environment: str) -> str:
    delay = (
        "delay 20 % of the first arm's median, at least twice the clock's bound"
        if environment == "loopback"
        else "delay 10 % of the first arm's median, at least 5 ms"
    )
    return f"{delay}; CPU 10 %, jitter 20 %"
