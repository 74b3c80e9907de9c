"""First screen of a report: the same answer, table and verdicts in HTML, Markdown and PDF."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from app.i18n import LANGUAGES, speaker
from app.lab.analysis.analyse import analyse
from app.lab.report.contents.opening import NEXT, opening_of
from app.lab.report.document import Opening
from app.lab.report.renderers.delay_bars import row_svg, scale, ticks_svg
from app.lab.report.renderers.html import report_html
from app.lab.report.renderers.markdown import report_markdown
from tests.unit.support_run import RunMaker, a_plan
from tests.unit.test_headline import CASES, THREE, disturbed, everywhere, slower

english = speaker("en")

WORDS_OF_STATISTICS = re.compile(r"\barms?\b|(?<!-)\bblocks?\b|\bHolm\b|\bb - a\b|\bA12\b")
"""Words that readers who know no statistics need not know; `--blocks` is a flag."""


def opening(maker: RunMaker, **arguments: object) -> Opening:
    return opening_of(analyse(maker.run(**arguments)))  # type: ignore[arg-type]


def shown(page: str) -> str:
    """Return the text of a page, without styles and tags."""
    return re.sub(r"<style>.*?</style>|<[^>]*>", " ", re.sub("</?code>", "", page), flags=re.DOTALL)


def test_cards_are_of_the_largest_count_that_counts() -> None:
    screen = opening(RunMaker(delay_ms=everywhere(0.6), alter=disturbed(only_clients=6)))

    assert [english(each.title) for each in screen.cards] == [
        "Median delay, 3 clients",
        "95 % arrive within, 3 clients",
        "Server CPU per delivery, 3 clients",
    ]
    assert [[(english(own.name), english(own.value)) for own in each.figures] for each in screen.cards] == [
        [("SSE", "1.08 ms"), ("Socket.IO", "1.66 ms")],
        [("SSE", "1.59 ms"), ("Socket.IO", "2.51 ms")],
        [("SSE", "89.8 µs"), ("Socket.IO", "102 µs")],
    ]
    assert [english(own) for each in screen.cards for own in each.verdicts] == [
        "SSE faster by 0.46–0.79 ms",
        "not tested: the verdict is on the median",
        "SSE cheaper by 5.3–16 µs",
    ]
    assert english(screen.deliveries) == (
        "3,200 delivered, of which 1,280 count; none lost, duplicated or out of order."
    )


def test_an_undecided_card_says_how_large_the_difference_may_be() -> None:
    screen = opening(RunMaker(delay_ms=everywhere(0.2), block_noise=0.5))

    assert english(screen.cards[0].verdicts[0]) == "not decided: they may differ by up to 1.1 ms"


def test_where_nothing_counts_what_was_seen_is_grey_and_says_so() -> None:
    analysis = analyse(RunMaker(alter=disturbed()).run())
    screen = opening_of(analysis)

    assert english(screen.medians) == "Seen with 6 clients, not counted: median delay"
    assert {english(own) for each in screen.cards for own in each.verdicts} == {"seen, not counted"}
    assert screen.delays is not None
    assert {english(each.verdict) for each in screen.delays.rows} == {"seen, not counted"}
    header = report_html(analysis).partition("<header>")[2].partition("</header>")[0]
    assert 'class="s0 seen half"' in header
    assert 'class="s0 half"' not in header
    assert '<figure class="delays seen">' in header


def test_figures_of_a_run_that_was_stopped_without_a_result_are_grey() -> None:
    stopped = opening(RunMaker(), complete=False, blocks_done=2)
    decided = opening(
        RunMaker(plan=a_plan(blocks=10), delay_ms=everywhere(0.6)), complete=False, blocks_done=9
    )

    assert english(stopped.medians) == "So far, with 6 clients: median delay"
    assert english(stopped.cards[0].verdicts[0]) == "not decided (2 of 8 done)"
    assert {each.counts for each in stopped.cards} == {False}
    assert english(decided.medians) == "Median delay with 6 clients:"
    assert {each.counts for each in decided.cards} == {True}


def test_a_screen_explains_the_verdicts_that_it_has() -> None:
    mixed = opening(RunMaker(delay_ms=slower({1: 0.5, 3: 0.0, 6: 0.3}), alter=disturbed(only_clients=6)))
    undecided = opening(RunMaker(plan=a_plan(blocks=3)))
    invalid = opening(RunMaker(alter=disturbed()))
    lan = opening(RunMaker(plan=a_plan(environment="lan"), delay_ms=everywhere(0.0)))

    assert [english(each.text).partition(":")[0] for each in mixed.notes] == [
        "Faster, cheaper",
        "Equal",
        "A repetition",
        "Simulated clients",
    ]
    assert english(mixed.notes[1].text) == (
        "Equal: closer than a limit set before the run, 20 % of the median of SSE but at least twice the "
        "clock's error; wrong in at most 5 % of runs."
    )
    assert "10 % of the median of SSE but at least 5 ms;" in " ".join(
        english(each.text) for each in lan.notes
    )
    assert english(undecided.notes[0].text).startswith("Not decided: ")
    assert english(invalid.notes[0].text) == (
        "A repetition: one round of each transport with each number of clients, 6 rounds in all."
    )


def test_only_the_counts_that_do_not_count_are_grey() -> None:
    screen = opening(RunMaker(alter=disturbed(only_clients=6)))

    assert screen.delays is not None
    assert [{bar.counts for bar in row.bars} for row in screen.delays.rows] == [{True}, {True}, {False}]
    assert all(each.counts for each in screen.cards)


def test_a_figure_that_too_few_notifications_support_is_neither_drawn_nor_explained() -> None:
    few = opening(RunMaker(plan=a_plan(blocks=2, notifications=20, client_counts=(1,))))
    many = opening(RunMaker(plan=a_plan(blocks=8, notifications=20, client_counts=(1,))))

    assert few.delays is not None
    assert many.delays is not None
    assert english(few.delays.title) == "Delay by number of clients: mark = median, bar = middle half"
    assert english(many.delays.title).endswith(", line = to the 95th percentile")
    assert '<line class="s0' not in row_svg(few.delays.rows[0], scale(few.delays), english)
    assert [english(each.title).partition(",")[0] for each in few.cards] == [
        "Median delay",
        "Server CPU per delivery",
    ]


def test_a_pair_shares_a_row_and_three_arms_have_one_each() -> None:
    pair = opening(RunMaker(plan=a_plan(client_counts=(6,))))
    three = opening(RunMaker(plan=a_plan(arms=THREE, client_counts=(6,))))

    assert pair.delays is not None
    assert three.delays is not None
    assert [len(each.bars) for each in pair.delays.rows] == [2]
    assert [english(each.label) for each in three.delays.rows] == [
        "SSE 1, 6 clients",
        "Socket.IO, 6 clients",
        "SSE 2, 6 clients",
    ]
    assert [bool(each.verdict) for each in three.delays.rows] == [False, True, True]
    assert english(three.cards[0].verdicts[1]).startswith("SSE 2: ")


def test_one_arm_is_not_compared() -> None:
    screen = opening(RunMaker(plan=a_plan(arms=("sse",))))

    assert {english(own) for each in screen.cards for own in each.verdicts} == {"not compared"}
    assert screen.strip == NEXT


def test_a_run_without_rounds_has_an_answer_and_no_figures() -> None:
    screen = opening(RunMaker(), complete=False, blocks_done=0)

    assert (
        english(screen.answer)
        == "SSE or Socket.IO? Stopped after 0 of 8 repetitions (0 of 48 rounds): no result."
    )
    assert (screen.medians, screen.cards, screen.delays) == (None, (), None)


def test_the_strip_has_the_cause_and_the_next_step_only_where_something_is_open() -> None:
    maker = RunMaker(delay_ms=slower({1: 0.5, 3: 0.0, 6: 0.3}), alter=disturbed(only_clients=6))
    found = opening(maker).strip

    assert found is not None
    assert english(found.seen) == "16 of 48 rounds did not count: somebody published other notifications."
    assert (
        english(found.step)
        == "To decide with 6 clients: the same plan with 8 repetitions (`--blocks 8`), about 1 minute."
    )
    assert opening(RunMaker(delay_ms=everywhere(0.6))).strip == NEXT


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("case", CASES)
def test_every_form_begins_with_the_same_answer_table_and_next_step(case: str, language: str) -> None:
    maker, arguments, *_ = CASES[case]
    analysis, say = analyse(maker.run(**arguments)), speaker(language)  # type: ignore[arg-type]
    screen = opening_of(analysis)

    markdown = report_markdown(analysis, language).replace("\\", "").replace("`", "").partition("\n## ")[0]
    page = shown(report_html(analysis, language).partition("</header>")[0])

    assert markdown.startswith(f"# {say(screen.answer)}\n")
    assert screen.delays is not None
    said = [cell for row in screen.delays.table.rows for cell in row] + [screen.setting, screen.deliveries]
    if screen.strip is not None:
        said += [screen.strip.seen or "", screen.strip.step or "", screen.strip.command]
    for each in said:
        text = "" if each is None else say(each).replace("`", "")
        assert " ".join(text.split()) in " ".join(markdown.split())
        assert " ".join(text.split()) in " ".join(page.split())


@pytest.mark.parametrize("case", CASES)
def test_words_of_statistics_are_said_below_their_explanations_only(case: str) -> None:
    maker, arguments, *_ = CASES[case]

    page = report_html(analyse(maker.run(**arguments)))  # type: ignore[arg-type]

    before, _, after = page.partition('id="statistics"')
    assert WORDS_OF_STATISTICS.findall(shown(before)) == []
    assert set(WORDS_OF_STATISTICS.findall(shown(after))) >= {"arm", "block", "Holm"}


def test_statistics_and_studies_are_closed_and_links_lead_into_them() -> None:
    page = report_html(analyse(RunMaker().run()))

    for name in ("statistics", "characteristics", "study"):
        assert f'<a href="#{name}">' in page
        opened = page.rindex("<details>", 0, page.index(f'<div id="{name}">'))
        assert "</details>" not in page[opened : page.index(f'<div id="{name}">')]


@pytest.mark.parametrize("case", CASES)
def test_every_bar_is_well_formed_labelled_and_within_the_scale(case: str) -> None:
    maker, arguments, *_ = CASES[case]
    delays = opening(maker, **arguments).delays
    assert delays is not None

    for row in delays.rows:
        drawing = ElementTree.fromstring(row_svg(row, scale(delays), english))

        assert drawing.get("aria-label")
        places = [each.get(name) for each in drawing.iter() for name in ("x", "x1", "x2", "width")]
        shares = [float(each.rstrip("%")) for each in places if each is not None and each.endswith("%")]
        assert len(shares) > 2 * len(row.bars)
        assert all(0 <= each <= 100 for each in shares)


def test_labels_of_the_scale_leave_room_for_each_other() -> None:
    screen = opening(RunMaker(delay_ms=lambda arm, clients, client: 400_000.0))
    assert screen.delays is not None

    labels = ticks_svg(scale(screen.delays), english)

    assert labels.count("<text") == 3
    assert "800,000 ms</text>" in labels


def test_a_run_of_phones_counts_phones() -> None:
    run = RunMaker(plan=a_plan(client_counts=(1,), environment="lan")).run()
    phones = [{"client": 0, "pseudonym": "P1"}]
    screen = opening_of(analyse(replace(run, conditions={**run.conditions, "participants": phones})))

    assert english(screen.cards[0].title) == "Median delay, 1 phone"
    assert screen.delays is not None
    assert english(screen.delays.title).startswith("Delay by number of phones")
