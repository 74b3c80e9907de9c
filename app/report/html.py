"""`report.html`: the whole run in one file that asks for nothing from anywhere.

Text is escaped by Jinja, drawings by `svg.py`. The page has no script.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from app.analysis.analyse import Analysis
from app.analysis.beside import beside
from app.analysis.comparison import Comparison, Verdict
from app.analysis.further import further
from app.analysis.published import FAULTS, repeated_study
from app.analysis.sentences import sentence
from app.analysis.words import arm_title, count_of, is_same_arm, listing
from app.core.trial import Severity
from app.report.evidence import curve_figure, forest_figure
from app.report.factor_effects import factor_figure, factor_tables, share_table
from app.report.further_tables import (
    METHODS_NOTE,
    SECONDS_NOTE,
    STUDY_NOTE,
    characteristic_tables,
    formulas_table,
    intervals_table,
    levels_table,
    methods_table,
    study_table,
)
from app.report.study_cpu import cpu_figures
from app.report.study_delay import delay_figures
from app.report.tables import conditions_table, phones_table, split_table, summary_table, trial_table
from app.report.terminal import headline, warning_lines, who

_TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
_STYLES = Path(__file__).with_name("report.css")

SCALE_NOTE = (
    "This run's delays are milliseconds and the published ones are tenths of seconds, so they never share a linear "
    "axis: each stands on its own, and the fourth figure sets both on a logarithmic one."
)


SPLIT_NOTE = (
    "Medians of the trials' medians. Source: from due to sent. Server: from sent to right before the send() that handed the "
    "kernel the last of it. Network: from there to the receive stamp of the client's kernel, so on loopback the "
    "send() itself. Client: from there to the client's own stamp. In each delivery the four add up to its delay; their "
    "medians need not. Spread: from the first client that is written to, to the last. IP bytes: packets of both directions by "
    "the server's TCP_INFO, with headers by each connection's options; heartbeats are in it. What switching the recording on "
    "costs is in the README."
)


PHONES_NOTE = (
    "By pseudonym: names are kept apart and leave with no export. Where fewer phones took part than were there, they took "
    "turns by a balanced Latin square, the same phones for every arm of a block; the table of trials names them. Void: "
    "trials in which a phone slept, lost its connection, saw its clock jump, or did not answer; their blocks are left out and "
    "repeated, and what they show is kept."
)


def report_html(analysis: Analysis) -> str:
    """The page as text."""
    run, study = analysis.run, repeated_study()
    arms = run.plan.arms
    return (
        _environment()
        .get_template("report.html")
        .render(
            css=Markup(_STYLES.read_text(encoding="utf-8")),
            title=f"{listing([arm_title(arm) for arm in arms])}, measured by Siar",
            run=run,
            headline=headline(analysis),
            verdicts=[_verdict(each, analysis.noun) for each in analysis.verdicts],
            secondary=[
                _verdict(each, analysis.noun) for each in analysis.comparisons if each.family == "secondary"
            ],
            is_with_phones=bool(analysis.phones),
            phones=phones_table(analysis),
            phones_note=PHONES_NOTE,
            same_arms=any(is_same_arm(arms[0], arm) for arm in arms[1:]),
            warnings=[
                (group.severity is Severity.VOID, *warning_lines(group)) for group in analysis.warnings
            ],
            summary=summary_table(analysis),
            split=split_table(analysis),
            split_note=SPLIT_NOTE,
            forest=forest_figure(analysis),
            study_figures=[*delay_figures(analysis), *cpu_figures(analysis)],
            curve=curve_figure(analysis),
            scale_note=SCALE_NOTE,
            further=_further(analysis),
            study=study,
            faults=FAULTS,
            method=_method(analysis),
            plan_sha256=analysis.plan_sha256,
            trials=trial_table(analysis),
            conditions=conditions_table(
                {name: value for name, value in run.conditions.items() if name != "participants"}
            ),
        )
    )


def _further(analysis: Analysis) -> dict[str, object]:
    """What the sections beside the verdict show."""
    rows, others = further(analysis), beside(analysis)
    return {
        "study": study_table(others),
        "study_note": STUDY_NOTE,
        "methods": methods_table(others),
        "methods_note": METHODS_NOTE,
        "characteristics": characteristic_tables(analysis, rows),
        "factors": factor_figure(analysis, factor_tables(analysis)),
        "shares": share_table(analysis),
        "formulas": formulas_table(),
        "levels": levels_table(rows),
        "intervals": intervals_table(rows),
        "seconds_note": SECONDS_NOTE,
    }


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["drawing"] = Markup
    return environment


def _verdict(comparison: Comparison, noun: str) -> tuple[bool, str]:
    """Whether something was found, and the sentence."""
    decided = comparison.verdict in (Verdict.LOWER_A, Verdict.LOWER_B)
    return decided or comparison.equivalent, sentence(comparison, noun=noun)


def _method(analysis: Analysis) -> list[str]:
    """How it was measured, in sentences with this run's figures."""
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


def _receivers(analysis: Analysis) -> str:
    if analysis.phones:
        return f"{who(analysis)} on the network ({analysis.run.plan.environment})"
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
