"""First screen of a report: rows, deliveries, and what did not count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.i18n import text
from app.lab.analysis.analyse import analyse
from app.lab.analysis.first_screen import first_screen, verdict_phrase
from tests.unit.support_run import RunMaker, a_plan
from tests.unit.test_headline import disturbed, doubling, everywhere, losing, slower


def test_a_count_of_which_no_round_counts_still_shows_what_was_seen() -> None:
    screen = first_screen(analyse(RunMaker(alter=disturbed(only_clients=6)).run()))

    assert [(row.clients, {each.counts for each in row.arms}) for row in screen.rows] == [
        (1, {True}),
        (3, {True}),
        (6, {False}),
    ]
    seen = screen.rows[-1].arms[0].row
    assert seen.delay_ms_p50 is not None
    assert text(screen.deliveries, "en").startswith("3,200 delivered, of which 1,280 count; none lost")
    assert (
        text(screen.not_counted, "en")
        == "16 of 48 rounds did not count: somebody published other notifications."
    )
    assert 6 in screen.open_counts


def test_counts_that_were_never_reached_have_no_row() -> None:
    run = RunMaker(plan=a_plan(blocks=1)).run(complete=False)
    first = tuple(each for each in run.trials if each.spec.clients == run.trials[0].spec.clients)

    screen = first_screen(analyse(replace(run, trials=first)))

    assert [row.clients for row in screen.rows] == [first[0].spec.clients]


def test_all_rounds_count_in_an_undisturbed_run() -> None:
    screen = first_screen(analyse(RunMaker(delay_ms=everywhere(0.6)).run()))

    assert screen.not_counted is None
    assert screen.open_counts == ()
    assert text(screen.deliveries, "en") == "3,200 of 3,200 delivered; none lost, duplicated or out of order."


@pytest.mark.parametrize(
    ("alter", "sentence"),
    [
        (losing(arm="sse"), "3,176 of 3,200 delivered; 24 lost."),
        (doubling, "3,200 of 3,200 delivered; 24 duplicated."),
    ],
)
def test_what_went_wrong_is_counted(alter: object, sentence: str) -> None:
    screen = first_screen(analyse(RunMaker(alter=alter).run()))  # type: ignore[arg-type]

    assert text(screen.deliveries, "en") == sentence


@pytest.mark.parametrize(
    ("maker", "clients", "phrase"),
    [
        (RunMaker(delay_ms=everywhere(0.6)), 6, "SSE faster by 0.59–0.77 ms"),
        (RunMaker(delay_ms=slower({1: 0.5, 3: 0.0, 6: 0.3})), 3, "equal within ±0.22 ms"),
        (RunMaker(alter=disturbed()), 1, "no result (0 of 8 count)"),
        (RunMaker(plan=a_plan(blocks=3)), 1, "not decided"),
    ],
)
def test_a_verdict_is_a_phrase(maker: RunMaker, clients: int, phrase: str) -> None:
    analysis = analyse(maker.run())
    row = next(each for each in first_screen(analysis).rows if each.clients == clients)

    [found] = row.verdicts
    assert text(verdict_phrase(found, planned=maker.plan.blocks), "en").startswith(phrase)
