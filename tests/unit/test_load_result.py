"""Exit codes, capacity, agreement, JUnit, and a trial's line there and back."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from app.core.errors import Malformed, StoreError
from app.i18n import LANGUAGES, text
from app.lab.analysis.analyse import analyse
from app.lab.analysis.validity.trial_warnings import void
from app.tools.load import trial_line
from app.tools.load.agreement import agreements
from app.tools.load.junit import junit_text
from app.tools.load.levels import FIGURES
from app.tools.load.page import load_html
from app.tools.load.result import LoadResult, result_part
from app.tools.load.show import gate_line, print_load
from app.tools.load.trial_line import FloorLine, TrialLine
from app.tools.load.words import BROKEN_OFF
from tests.support.marked import words_of_no_catalogue
from tests.unit.load_lines import LATE, a_floor, a_line, a_result
from tests.unit.support_run import RunMaker, a_plan


def test_gates_that_held_end_with_0(tmp_path: Path) -> None:
    assert a_result(tmp_path, [a_line(), a_floor()]).exit_code == 0


def test_a_missed_gate_ends_with_99(tmp_path: Path) -> None:
    assert a_result(tmp_path, [a_line(lost=1), a_floor()]).exit_code == 99


def test_a_generator_that_is_not_to_be_believed_ends_with_3_whatever_the_gates_say(tmp_path: Path) -> None:
    busy = a_line(is_believable=False, void_codes=("generator_busy",), lost=5)

    found = a_result(tmp_path, [busy, a_line(), busy])

    assert found.exit_code == 3
    assert "generator_busy" in text(found.troubles[0], "en")


def test_one_void_trial_of_several_takes_nothing_from_the_generator(tmp_path: Path) -> None:
    busy = a_line(is_believable=False, void_codes=("generator_busy",))

    assert a_result(tmp_path, [busy, a_line(), a_line()]).is_valid


def test_a_generator_that_fails_against_the_neutral_source_is_not_believed(tmp_path: Path) -> None:
    assert a_result(tmp_path, [a_line(), a_floor(warnings=(LATE,))]).exit_code == 3


def pair(block: int, built_in_ms: float, locust_ms: float) -> list[TrialLine]:
    return [
        a_line(block=block, generator=generator, arm=f"sse, {generator}", delays_ms=[delay_ms] * 20)
        for generator, delay_ms in (("built-in", built_in_ms), ("locust", locust_ms))
    ]


@pytest.mark.parametrize(
    ("built_in_ms", "locust_ms", "agrees"),
    [(0.30, 0.39, True), (0.30, 0.45, False), (5.0, 5.4, True), (5.0, 5.6, False), (5.0, 4.4, False)],
)
def test_medians_agree_within_a_tenth_of_a_millisecond_or_a_tenth(
    built_in_ms: float, locust_ms: float, agrees: bool
) -> None:
    lines = [line for block in range(4) for line in pair(block, built_in_ms, locust_ms)]

    (found,) = agreements(lines)

    assert (found.blocks, found.agrees) == (4, agrees)


def test_nothing_agrees_where_nothing_is_believed() -> None:
    (found,) = agreements([replace(line, is_believable=False) for line in pair(0, 1.0, 1.0)])

    assert (found.blocks, found.agrees) == (0, False)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (pair(0, 1.0, 2.0), "The medians differ by more than 0.1 ms and a tenth."),
        (
            [replace(line, is_believable=False) for line in pair(0, 1.0, 1.0)],
            "No block of both is to be believed.",
        ),
    ],
    ids=["apart", "nothing to compare"],
)
def test_the_junit_of_an_agreement_says_why_there_is_none(
    tmp_path: Path, lines: list[TrialLine], said: str
) -> None:
    found = a_result(tmp_path, lines, gates=(), shape="agreement")

    suite = ElementTree.fromstring(junit_text(found, run="r", duration_s=1.0))[0]

    assert [each.get("message") for each in suite.iter("failure")] == [said]


def test_a_shape_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="waves"):
        a_result(tmp_path, [a_line()], shape="waves")


def test_junit_has_a_case_for_each_gate_and_one_for_the_generator(tmp_path: Path) -> None:
    found = a_result(tmp_path, [a_line(lost=1)], gates=("lost==0", "delay_ms_p95<100"))

    suite = ElementTree.fromstring(junit_text(found, run="r", duration_s=1.5))[0]

    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "0",
    }
    cases = {case.get("name"): case.find("failure") for case in suite}
    assert cases["delay_ms_p95<100"] is None
    assert cases["lost==0"] is not None


def test_junit_survives_what_xml_cannot_hold(tmp_path: Path) -> None:
    warning = void("stored", text="bell \x07 & <tag>", advice="")
    found = a_result(tmp_path, [a_floor(warnings=(warning,)), a_line()])

    suite = ElementTree.fromstring(junit_text(found, run="r", duration_s=0.0))[0]

    assert suite.get("errors") == "1"


def test_a_run_that_broke_off_says_so_wherever_a_gate_is_said_to_have_held(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    whole = a_result(folder, [a_line(), a_floor()])
    broken = replace(whole, complete=False)
    analysis = analyse(RunMaker(plan=a_plan(blocks=1, client_counts=(2,), notifications=5)).run())

    def said(found: LoadResult, language: str) -> tuple[bool, bool]:
        """On the page and on the terminal."""
        sentence, file = text(BROKEN_OFF, language), io.StringIO()
        print_load(analysis, found, Console(file=file, width=200), language)
        return sentence in load_html(analysis, found, language), sentence in file.getvalue()

    for language in LANGUAGES:
        assert said(broken, language) == (True, True)
        assert said(whole, language) == (False, False)


def test_the_junit_of_a_run_that_broke_off_has_an_error_though_its_gates_held(tmp_path: Path) -> None:
    found = replace(a_result(tmp_path, [a_line(), a_floor()]), complete=False)

    suite = ElementTree.fromstring(junit_text(found, run="r", duration_s=1.0))[0]

    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "0", "1")
    assert [case.get("name") for case in suite if case.find("error") is not None] == [
        "the run came to its end"
    ]


def test_the_page_says_gates_first_and_holds_no_nan(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    found = a_result(folder, [a_line(), a_floor()])
    analysis = analyse(RunMaker(plan=a_plan(blocks=1, client_counts=(2,), notifications=5)).run())

    page = load_html(analysis, found)

    assert page.index("lost==0") < page.index("The generator</h2>")
    json.dumps(result_part(found), allow_nan=False)


def test_a_trial_and_a_floor_come_back_from_their_lines(tmp_path: Path) -> None:
    line, floor = a_line(failures={"Connection refused": 2}), a_floor(warnings=(LATE,))
    trial_line.append(tmp_path, line.to_json())
    trial_line.append(tmp_path, floor.to_json())
    with (tmp_path / trial_line.FILE_NAME).open("a") as file:
        file.write('{"kind": "tri')  # its runner died here

    first, second = trial_line.read(tmp_path)

    assert TrialLine.from_json(first) == line
    assert FloorLine.from_json(second) == floor


def test_a_folder_without_load_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        trial_line.read(tmp_path)


def test_a_line_that_is_no_trial_is_refused() -> None:
    with pytest.raises(Malformed):
        TrialLine.from_json({"kind": "trial"})


def test_every_text_of_the_page_is_from_the_catalogue(tmp_path: Path, marked: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    found = a_result(folder, [a_line(), a_line(users=20, lost=1), a_floor()])
    analysis = analyse(RunMaker(plan=a_plan(blocks=1, client_counts=(2,), notifications=5)).run())

    page = load_html(analysis, found, marked)

    assert not words_of_no_catalogue(page, "synthetic", *FIGURES)
    (line,) = (gate_line(each, found) for each in found.gates)
    assert text(line, "id") == ("✗ lost==0: 1, SSE dengan 20 pengguna; tidak tercapai pada 1 dari 2 tingkat.")


def test_a_spike_shows_the_way_down_apart_from_the_way_up(tmp_path: Path) -> None:
    up = a_line(trial=1, users=10, delays_ms=[5.0] * 20)
    top = a_line(trial=3, users=50, connected=50)
    down = a_line(trial=5, users=10, block=1, delays_ms=[9.0] * 20)

    found = a_result(tmp_path, [up, top, down], shape="spike", gates=("delay_ms_p50<8",))

    assert [(level.users, level.visit) for level in found.levels] == [(10, 0), (50, 0), (10, 1)]
    assert text(found.gates[0].where, "en") == "SSE with 10 users again"
