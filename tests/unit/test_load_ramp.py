"""A ramp goes on until something gives out: a gate, which is its answer, or the generator, which bounds it from below."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from app.i18n import LANGUAGES, text
from app.tools.load.capacity import Capacity
from app.tools.load.gates import parse_gate
from app.tools.load.junit import junit_text
from app.tools.load.levels import FIGURES
from app.tools.load.page import load_html
from app.tools.load.result import LoadResult, result_part
from app.tools.load.shapes import breaks
from app.tools.load.show import gate_line, print_load
from app.tools.load.trial_line import FloorLine, TrialLine
from app.tools.load.words import capacity_sentences, validity_sentence
from tests.support.marked import words_of_no_catalogue
from tests.unit.load_lines import LATE, a_floor, a_line, a_result, an_analysis

LIMIT = "delay_ms_p95<150"


def at(users: int, *, arm: str = "sse", **changes: Any) -> TrialLine:
    """As many milliseconds as users."""
    delays_ms = [float(users)] * 20
    return a_line(users=users, connected=users, arm=arm, transport=arm, **{"delays_ms": delays_ms, **changes})


def void_at(users: int, **changes: Any) -> TrialLine:
    """Where the generator gave out."""
    return at(users, is_believable=False, void_codes=("generator_busy",), **changes)


def ramp(folder: Path, lines: Iterable[TrialLine | FloorLine], *gates: str) -> LoadResult:
    folder.mkdir(exist_ok=True)
    return a_result(folder, list(lines), gates=gates or (LIMIT,), shape="ramp")


def printed(found: LoadResult, language: str = "en") -> list[str]:
    """The lines after the headline."""
    file = io.StringIO()
    print_load(an_analysis(), found, Console(file=file, width=200), language)
    return file.getvalue().splitlines()[2:]


def test_a_ramp_reports_the_most_users_at_which_the_gates_held(tmp_path: Path) -> None:
    found = ramp(tmp_path, map(at, (50, 100, 200, 400)))

    assert found.capacity == {"sse": Capacity(100)}
    assert found.exit_code == 0


def test_a_ramp_that_breaks_at_once_has_no_capacity(tmp_path: Path) -> None:
    found = ramp(tmp_path, [at(200)])

    assert (found.capacity, found.exit_code) == ({"sse": Capacity(None)}, 99)


@pytest.mark.parametrize("gate", ["lost==0", LIMIT])
def test_a_level_at_which_the_generator_gave_out_is_no_capacity_and_bounds_it_from_below(
    tmp_path: Path, gate: str
) -> None:
    found = ramp(tmp_path, [at(50), at(100), void_at(140)], gate)

    assert found.capacity == {"sse": Capacity(100, gave_out_at=140)}
    assert (found.exit_code, found.is_valid) == (0, True)
    part = result_part(found)
    assert part["remarks"] == ["SSE with 140 users: 1 of 1 trial void (generator_busy)."]
    assert (part["capacity"], part["generator_gave_out"]) == ({"sse": 100}, {"sse": 140})
    assert breaks([parse_gate(gate)], found.lines)("sse", 140), "nothing is to be learnt beyond"
    assert not breaks([parse_gate(gate)], found.lines)("sse", 100)


def test_where_the_generator_gave_out_the_capacity_is_said_to_be_at_least_so_much(tmp_path: Path) -> None:
    found = ramp(tmp_path, [at(50), at(100), void_at(140)])

    assert printed(found)[0] == (
        f"✓ SSE: {LIMIT} held up to 100 users; beyond that the generator is not to be believed, so the capacity is at "
        "least 100."
    )
    assert printed(found, "id")[0] == (
        f"✓ SSE: {LIMIT} tercapai sampai 100 pengguna; di atas itu pembuat beban tidak dapat dipercaya, jadi kapasitasnya "
        "paling sedikit 100."
    )


def test_a_generator_that_is_to_be_believed_at_no_level_ends_with_3(tmp_path: Path) -> None:
    found = ramp(tmp_path, [void_at(50)], "lost==0")

    assert (found.exit_code, found.capacity["sse"].is_unknown) == (3, True)
    assert printed(found)[0] == (
        "? SSE: the generator is not to be believed at any level, so nothing is known of the capacity."
    )
    assert "pembuat beban tidak dapat dipercaya di tingkat mana pun" in printed(found, "id")[0]


def test_one_transport_of_which_nothing_was_found_out_ends_with_3_whatever_the_other_bore(
    tmp_path: Path,
) -> None:
    found = ramp(tmp_path, [void_at(50), at(50, arm="socketio"), at(100, arm="socketio")])

    assert found.capacity == {"sse": Capacity(None, gave_out_at=50), "socketio": Capacity(100)}
    assert found.exit_code == 3


def test_a_generator_that_failed_against_the_neutral_source_ends_a_ramp_with_3(tmp_path: Path) -> None:
    floor = a_floor(users=50, warnings=(LATE,))

    assert ramp(tmp_path, [floor, at(50), at(100)]).exit_code == 3


def test_judged_again_by_a_stricter_gate_it_is_that_gate_which_ended_the_ramp(tmp_path: Path) -> None:
    found = ramp(tmp_path, [at(50), at(100), void_at(140)], "delay_ms_p95<80")

    assert found.capacity == {"sse": Capacity(50)}
    assert found.exit_code == 0


def test_a_ramp_that_broke_its_gate_begins_with_a_tick_and_shows_no_cross(tmp_path: Path) -> None:
    lines = printed(ramp(tmp_path, map(at, (50, 100, 200))))

    assert lines[0] == f"✓ SSE: {LIMIT} held up to 100 users, and no longer at the next level."
    assert lines[1].startswith(f"• {LIMIT}: ")
    assert not any("✗" in line for line in lines)


def test_a_ramp_that_held_at_no_level_begins_with_a_cross(tmp_path: Path) -> None:
    assert printed(ramp(tmp_path, [at(200)]))[0] == f"✗ SSE: {LIMIT} held at no level."


def suite_of(found: LoadResult) -> ElementTree.Element:
    return ElementTree.fromstring(junit_text(found, run="r", duration_s=1.0))[0]


@pytest.mark.parametrize(
    ("lines", "failures", "errors", "skipped"),
    [
        ([at(50), at(200)], "0", "0", "0"),
        ([at(50), void_at(100)], "0", "0", "0"),
        ([at(200)], "1", "0", "0"),
        ([void_at(50)], "0", "1", "1"),
        ([a_floor(users=50, warnings=(LATE,)), at(50), at(200)], "0", "1", "1"),
    ],
    ids=[
        "broke its gate",
        "the generator gave out",
        "held at no level",
        "nothing was found out",
        "a generator without proof",
    ],
)
def test_the_junit_of_a_ramp_fails_where_its_exit_code_does(
    tmp_path: Path, lines: list[TrialLine], failures: str, errors: str, skipped: str
) -> None:
    found = ramp(tmp_path, lines)

    suite = suite_of(found)

    counted = suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped")
    assert counted == ("3", failures, errors, skipped)
    (case,) = (each for each in suite if each.get("name") == f"sse: a capacity under {LIMIT}")
    assert (case.find("failure") is not None, case.find("skipped") is not None) == (
        failures == "1",
        skipped == "1",
    )
    assert (found.exit_code == 0) == ((failures, errors) == ("0", "0"))
    said = case.findtext("system-out") or ""
    assert text(capacity_sentences(found)["sse"], "en") in said
    assert text(found.gates[0].reason, "en") in said


def test_every_text_of_a_ramp_s_page_is_from_the_catalogue(tmp_path: Path, marked: str) -> None:
    found = ramp(tmp_path, [a_floor(users=50), at(50), at(100), void_at(140)])

    page = load_html(an_analysis(), found, marked)

    assert not words_of_no_catalogue(page, "synthetic", "generator_busy", *FIGURES)
    (line,) = (gate_line(each, found) for each in found.gates)
    assert text(line, "id") == (
        f"• {LIMIT}: tidak terukur, SSE dengan 140 pengguna; tidak tercapai pada 1 dari 3 tingkat."
    )


@pytest.mark.parametrize(
    ("floors", "arm", "said"),
    [
        ((50, 100), "sse", "at every level"),
        ((50,), "sse", "at 1 of 2 levels"),
        ((), "sse", "No neutral source"),
        ((50, 100), "socketio-polling", "No neutral source"),
    ],
    ids=["all", "the smallest", "none", "of who does not poll"],
)
def test_what_proved_the_generator_is_said_and_no_more(
    tmp_path: Path, floors: tuple[int, ...], arm: str, said: str
) -> None:
    lines = [a_line(users=users, arm=arm) for users in (50, 100)]

    found = a_result(tmp_path, [*(a_floor(users=users) for users in floors), *lines], shape="steps")

    sentence = validity_sentence(found)
    assert found.is_valid
    assert said in text(sentence, "en")
    assert len({text(sentence, language) for language in LANGUAGES}) == len(LANGUAGES)
