"""The first screen of a run's report: answer, cards, delays by count of clients, and what is open.

A terminal has the same answer, table and next step (`first_screen.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.core.messages import Message, Text, count
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import ALPHA, EQUIVALENCE_LEVEL, LEVEL, Comparison
from app.lab.analysis.comparison.margins import DELAY_LAN_MS, DELAY_LAN_SHARE, DELAY_LOOPBACK_SHARE
from app.lab.analysis.first_screen import (
    ArmFigures,
    CountRow,
    FirstScreen,
    first_screen,
    is_decided,
    verdict_phrase,
)
from app.lab.analysis.headline import Kind as Headlines
from app.lab.analysis.headline import headline, outcome
from app.lab.analysis.words import METRIC_KEYS, arm_title, is_same_arm, moment
from app.lab.report.contents.first_screen import PAIR, SEEN, answer, setting, strip, table
from app.lab.report.document import Bar, Card, CardFigure, DelayRow, Delays, Kind, Opening, Paragraph, Strip

NEXT = Strip(None, None, Message("opening.next"), None)
"""The next step after a run with simulated clients that leaves nothing open."""


def opening_of(analysis: Analysis) -> Opening:
    """Return the first screen of a run's report."""
    screen, run = first_screen(analysis), analysis.run
    main = _main_row(screen.rows)
    is_final = headline(analysis).sentence.key != "headline.stopped"
    cards = () if main is None else tuple(_cards(analysis, main, is_final=is_final))
    found = strip(analysis, screen)
    if found is None and screen.rows and analysis.run.simulated and not analysis.phones:
        found = NEXT
    when = {"when": moment(run.started), "setting": setting(analysis), "n": run.plan.seed}
    return Opening(
        setting=Message("opening.setting", when),
        answer=answer(analysis),
        medians=None if main is None else _medians(main, analysis.noun, is_final=is_final),
        deliveries=screen.deliveries,
        cards=cards,
        delays=_delays(analysis, screen.rows) if screen.rows else None,
        strip=found,
        notes=(
            *(Paragraph(each, Kind.CAPTION) for each in _meanings(analysis, screen, is_final=is_final)),
            *(Paragraph(each, kind) for each, kind in _notes(analysis, has_next=found == NEXT)),
        ),
    )


def _main_row(rows: Sequence[CountRow]) -> CountRow | None:
    """Return the row of the largest count of clients that counts; if none does, that of the largest count."""
    counting = [each for each in rows if each.counts]
    return next(reversed(counting or list(rows)), None)


def _medians(row: CountRow, noun: str, *, is_final: bool) -> Message:
    key = "opening.medians.seen"
    if row.counts:
        key = "opening.medians" if is_final else "opening.medians.so_far"
    return Message(key, {"where": count(row.clients, noun)})


def _cards(analysis: Analysis, row: CountRow, *, is_final: bool) -> Iterator[Card]:
    """Yield the cards of median and 95th percentile of the delay, and of CPU; the last two where there is a figure.

    `is_final`: false if the run was stopped before it had a result.
    """
    where = {"where": count(row.clients, analysis.noun)}
    for name, unit, values, comparisons in (
        ("median", "ms", [each.row.delay_ms_p50 for each in row.arms], row.verdicts),
        ("p95", "ms", [each.row.delay_ms_p95 for each in row.arms], ()),
        ("cpu", "us", [each.row.cpu_per_delivery_us for each in row.arms], row.cpu),
    ):
        if name != "median" and all(each is None for each in values):
            continue
        figures = tuple(
            CardFigure(
                arm_title(each.arm),
                None if value is None else Message(f"opening.value.{unit}", {"n": value}),
                _series(analysis, each),
            )
            for each, value in zip(row.arms, values, strict=True)
        )
        verdicts = tuple(_card_verdicts(row, comparisons, planned=analysis.run.plan.blocks))
        yield Card(Message(f"opening.card.{name}", where), figures, verdicts, row.counts and is_final)


def _card_verdicts(row: CountRow, comparisons: Sequence[Comparison], *, planned: int) -> Iterator[Text]:
    if not row.counts:
        yield SEEN
    elif not comparisons:
        yield Message("opening.untested" if row.verdicts else "opening.alone")
    for each in comparisons if row.counts else ():
        phrase = _with_limit(each, verdict_phrase(each, planned=planned))
        if len(comparisons) > 1:
            phrase = Message("opening.verdict_of_arm", {"arm": arm_title(each.b), "phrase": phrase})
        yield phrase


def _with_limit(comparison: Comparison, phrase: Message) -> Message:
    """Return an undecided verdict with the largest difference that its interval leaves open."""
    low, high = comparison.interval.low, comparison.interval.high
    if is_decided(comparison) or low is None or high is None:
        return phrase
    args = {"phrase": phrase, "n": max(abs(low), abs(high))}
    return Message(f"opening.at_most.{METRIC_KEYS[comparison.metric]}", args)


def _series(analysis: Analysis, figures: ArmFigures) -> int:
    return [each.name for each in analysis.run.plan.arms].index(figures.arm.name)


def _delays(analysis: Analysis, rows: Sequence[CountRow]) -> Delays:
    drawn = tuple(drawn for row in rows for drawn in _delay_rows(analysis, row))
    # A line that too few notifications support is not drawn, and so it is not explained.
    has_line = any(bar.p95_ms is not None for row in drawn for bar in row.bars)
    title = Message(f"opening.delays.{analysis.noun}{'' if has_line else '.no_line'}")
    return Delays(title, drawn, table(analysis, rows, is_pair=False))


def _delay_rows(analysis: Analysis, row: CountRow) -> Iterator[DelayRow]:
    """Yield the rows of one count of clients: one with both arms of a pair, else one for each arm."""
    where = count(row.clients, analysis.noun)
    by_arm = {each.b.name: each for each in row.verdicts}
    bars, verdicts = [], []
    for each in row.arms:
        verdict: tuple[Text, bool] = ("" if each.counts else SEEN, False)
        comparison = by_arm.get(each.arm.name)
        if comparison is not None and each.counts:
            phrase = verdict_phrase(comparison, planned=analysis.run.plan.blocks)
            verdict = phrase, is_decided(comparison)
        bars.append(_bar(analysis, each))
        verdicts.append(verdict)
    if len(analysis.run.plan.arms) == PAIR:
        yield DelayRow(where, tuple(bars), *verdicts[-1])
        return
    for bar, verdict in zip(bars, verdicts, strict=True):
        yield DelayRow(Message("cell.arm_at", {"arm": bar.name, "clients": where}), (bar,), *verdict)


def _bar(analysis: Analysis, figures: ArmFigures) -> Bar:
    row = figures.row
    quantiles = (row.delay_ms_p25, row.delay_ms_p50, row.delay_ms_p75, row.delay_ms_p95)
    return Bar(arm_title(figures.arm), _series(analysis, figures), *quantiles, figures.counts)


def _meanings(analysis: Analysis, screen: FirstScreen, *, is_final: bool) -> Iterator[Message]:
    """Yield what each kind of verdict on the screen means, and how often it is wrong; and what a repetition is.

    `is_final`: false if the run was stopped before it had a result.
    """
    plan, rows = analysis.run.plan, screen.rows
    main = _main_row(rows)
    shown = [
        each for row in rows if row.counts for each in (*row.verdicts, *(row.cpu if row is main else ()))
    ]
    found = set(map(outcome, shown))
    if found & {Headlines.LOWER_A, Headlines.LOWER_B}:
        yield Message("opening.meaning.lower", {"n": 100 * ALPHA, "level": 100 * LEVEL})
    if Headlines.EQUIVALENT in found:
        is_lan = plan.environment == "lan"
        args = {
            "n": 100 * (DELAY_LAN_SHARE if is_lan else DELAY_LOOPBACK_SHARE),
            "arm": arm_title(plan.arms[0]),
            "ms": DELAY_LAN_MS,
            "wrong": 100 * (1 - EQUIVALENCE_LEVEL) / 2,
        }
        yield Message(f"opening.meaning.equivalent.{plan.environment}", args)
    if Headlines.UNDECIDED in found and is_final:
        yield Message("opening.meaning.undecided")
    if screen.not_counted is not None or not analysis.run.complete:
        yield Message("opening.meaning.repetition", {"n": len(plan.arms) * len(plan.client_counts)})


def _notes(analysis: Analysis, *, has_next: bool) -> Iterator[tuple[Message, Kind]]:
    """Yield labels for a run that is simulated, was stopped, or compares an arm with itself.

    `has_next`: the next step says that clients are simulated.
    """
    arms = analysis.run.plan.arms
    if not analysis.run.complete and headline(analysis).kind is not Headlines.STOPPED:
        yield Message("report.incomplete"), Kind.WARNING
    if analysis.run.simulated and not has_next:
        who = "phones" if analysis.phones else "clients"
        yield Message(f"report.simulated_{who}"), Kind.CAPTION
    if any(is_same_arm(arms[0], arm) for arm in arms[1:]):
        yield Message("report.same_arms"), Kind.CAPTION
