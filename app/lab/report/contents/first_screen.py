"""The first screen of a run on a terminal: answer, one table, deliveries, and the command that may decide what is open.

With two arms it fits 80 columns and, with the lines that a command prints after it, 22 rows. A page shares its parts
(`opening.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.core.messages import Message, Text, count
from app.core.plan.scenario import Plan
from app.core.trial import Severity
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.margins import BLOCKS_MIN
from app.lab.analysis.first_screen import ArmFigures, CountRow, FirstScreen, first_screen, verdict_phrase
from app.lab.analysis.headline import Kind as Headlines
from app.lab.analysis.headline import cause, counts_phrase, headline
from app.lab.analysis.more_blocks import MoreBlocks, more_blocks
from app.lab.analysis.validity.trial_warnings import advice
from app.lab.analysis.words import arm_title, is_same_arm
from app.lab.report.contents.run_command import run_command
from app.lab.report.document import Block, Kind, Numbers, Paragraph, Strip, Table

PAIR = 2
"""Number of arms that stand next to each other in a row; more arms have rows of their own."""

TITLE_CHARS_MAX = 10
"""Longest name of an arm, in characters, with which two arms fit next to each other into 80 columns."""

FIGURES = ("median", "p95", "cpu")

SEEN = Message("screen.seen")

NAMES_BOTH = (Headlines.EQUIVALENT, Headlines.MIXED)
"""Headlines of two arms that name both of them."""


def first_screen_blocks(analysis: Analysis, *, plan_file: str | None = None) -> Iterator[Block]:
    """Yield the first screen. `plan_file`: path of the file that the run's plan was read from, if it is known."""
    screen = first_screen(analysis)
    yield Paragraph(answer(analysis), Kind.ANSWER)
    yield Paragraph(setting(analysis), Kind.CAPTION)
    yield Paragraph("")
    if screen.rows:
        titles = [arm_title(each) for each in analysis.run.plan.arms]
        is_pair = len(titles) == PAIR and max(map(len, titles)) <= TITLE_CHARS_MAX
        yield Numbers(Message("section.table.summary"), table(analysis, screen.rows, is_pair=is_pair))
        yield Paragraph("")
    yield Paragraph(screen.deliveries)
    found = strip(analysis, screen, plan_file)
    if found is None:
        return
    if found.seen is not None:
        yield Paragraph(found.seen, Kind.WARNING)
    yield from (Paragraph(each) for each in (found.advice, found.step) if each is not None)
    if found.command is not None:
        yield Paragraph(f"  {found.command}", Kind.COMMAND)


def answer(analysis: Analysis) -> Message:
    """Return the question that a run answers, and its headline: `SSE or Socket.IO? No practical difference ...`.

    Only two different arms are a question, and a headline that names both needs none.
    """
    arms, found = analysis.run.plan.arms, headline(analysis)
    if len(arms) != PAIR or is_same_arm(*arms) or found.kind in NAMES_BOTH:
        return found.sentence
    first, last = map(arm_title, arms)
    return Message("screen.answer", {"first": first, "last": last, "answer": found.sentence})


def setting(analysis: Analysis) -> Message:
    """Return a line on where and how a run was measured: network, kind of clients, counts, rate and size."""
    plan = analysis.run.plan
    number = "" if tuple(analysis.client_counts) == (1,) else "s"
    kind = "simulated_" if analysis.phones and analysis.run.simulated else ""
    args = {
        "network": Message(f"screen.network.{plan.environment}"),
        "who": Message(f"screen.who.{kind}{analysis.noun}{number}", {"n": tuple(analysis.client_counts)}),
        "n": plan.rate_hz,
        "bytes": plan.payload_bytes,
    }
    return Message("screen.setting", args)


def table(analysis: Analysis, rows: Sequence[CountRow], *, is_pair: bool) -> Table:
    """Return the table of the first screen.

    `is_pair`: a row per count of clients, in which two arms stand next to each other; else a row per arm and count.
    """
    plan = analysis.run.plan
    titles = [arm_title(each) for each in plan.arms]
    headings: list[Text] = [Message(f"heading.{analysis.noun}s")]
    if is_pair:
        # The unit stands above the second of the two columns that it is for.
        for name in FIGURES:
            unit = Message(f"screen.{name}")
            headings += [titles[0], Message("screen.column", {"unit": unit, "arm": titles[1]})]
    else:
        headings += [Message("heading.transport"), *(Message(f"screen.{name}") for name in FIGURES)]
    headings.append(Message("heading.verdict"))
    lines = [line for row in rows for line in _lines(row, plan, is_pair=is_pair)]
    return Table(
        headings,
        [cells for cells, _ in lines],
        words=frozenset({len(headings) - 1} if is_pair else {1, len(headings) - 1}),
        muted=frozenset(index for index, (_, counts) in enumerate(lines) if not counts),
    )


def _lines(row: CountRow, plan: Plan, *, is_pair: bool) -> Iterator[tuple[tuple[Text, ...], bool]]:
    """Yield the lines of one count of clients: the cells of each, and whether its figures count.

    `is_pair`: one line with both arms next to each other, else a line per arm.
    """
    phrases: dict[str, Text] = {
        each.b.name: verdict_phrase(each, planned=plan.blocks) for each in row.verdicts
    }
    if is_pair:
        by_arm = {each.arm.name: each for each in row.arms}
        pairs = zip(*(_figures(by_arm.get(arm.name)) for arm in plan.arms), strict=True)
        # An arm is missing if the run ended before its first round.
        counts = len(row.arms) == PAIR and row.counts
        phrase = phrases.get(plan.arms[1].name) if counts else SEEN
        yield (row.clients, *(figure for pair in pairs for figure in pair), phrase), counts
        return
    for each in row.arms:
        # An arm that others are compared with has no phrase.
        phrase = phrases.get(each.arm.name, "") if each.counts else SEEN
        yield (row.clients, arm_title(each.arm), *_figures(each), phrase), each.counts


def _figures(arm: ArmFigures | None) -> tuple[Text, ...]:
    if arm is None:
        return (None,) * len(FIGURES)
    values = (arm.row.delay_ms_p50, arm.row.delay_ms_p95, arm.row.cpu_per_delivery_us)
    return tuple(None if each is None else Message("screen.figure", {"n": each}) for each in values)


def strip(analysis: Analysis, screen: FirstScreen, plan_file: str | None = None) -> Strip | None:
    """Return what did not count, and what may decide the open counts of clients; `None` if there is neither.

    `plan_file`: path of the file that the run's plan was read from, if it is known.
    """
    if not screen.open_counts:
        return None if screen.not_counted is None else Strip(screen.not_counted, None, None, None)
    more, command = more_blocks(analysis, screen.open_counts), None
    args: dict[str, object] = {"where": counts_phrase(screen.open_counts, analysis.noun)}
    key = "screen.decide.never"
    if more is not None:
        args |= {"count": more.blocks, "minutes": more.minutes, "repetitions": repetitions(analysis, more)}
        command = run_command(analysis, more.blocks, plan_file)
        key = "screen.decide.plan" if command is None else "screen.decide"
    return Strip(screen.not_counted, _advice(analysis), Message(key, args), command)


def repetitions(analysis: Analysis, more: MoreBlocks) -> Message:
    """Return the number of repetitions of a new run, with that of this one where scatter is the reason for more."""
    planned = analysis.run.plan.blocks
    if not analysis.run.complete:
        return Message("screen.decide.anew", {"count": more.blocks})
    if more.blocks <= max(planned, BLOCKS_MIN):
        return count(more.blocks, "repetition")
    return Message("screen.decide.instead", {"count": more.blocks, "planned": planned})


def _advice(analysis: Analysis) -> Message | None:
    """Return what to do against the most frequent cause of invalid rounds; `None` without any."""
    if (found := cause(analysis)) is None:
        return None
    groups = (
        each.first
        for each in analysis.warnings
        if each.first.code == found[0] and each.first.severity is Severity.VOID
    )
    return next(map(advice, groups), None)
