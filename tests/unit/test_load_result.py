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
from app.tools.load.result import LoadResult, load_result, result_part
from app.tools.load.show import gate_line, print_load
from app.tools.load.trial_line import FloorLine, TrialLine
from app.tools.load.words import BROKEN_OFF
from tests.support.marked import words_of_no_catalogue
from tests.unit.load_lines import LATE, a_floor, a_line, a_result, an_analysis
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


def suite_of(found: LoadResult, *, run: str = "r") -> ElementTree.Element:
    return ElementTree.fromstring(junit_text(found, run=run, duration_s=1.5))[0]


def states(suite: ElementTree.Element) -> dict[str, str]:
    """The state of each test case by its name."""
    return {
        case.get("name", ""): next(
            (tag for tag in ("error", "failure", "skipped") if case.find(tag) is not None), "passed"
        )
        for case in suite.iter("testcase")
    }


NO_PAIR = [
    replace(line, is_believable=(line.generator == "locust") == bool(block))
    for block in range(2)
    for line in pair(block, 1.0, 1.0)
]
"""Half of each generator's trials are valid, those of one in the block in which the other's is not."""


@pytest.mark.parametrize(
    ("lines", "exit_code", "state", "said"),
    [
        (pair(0, 1.0, 2.0), 99, "failure", "The medians differ by more than 0.1 ms and 10 %."),
        (NO_PAIR, 3, "skipped", "Not compared: no block has a valid trial of both."),
        (pair(0, 1.0, 1.0), 0, "passed", None),
    ],
    ids=["apart", "nothing to compare", "agree"],
)
def test_an_agreement_without_a_pair_of_valid_trials_is_not_judged(
    tmp_path: Path, lines: list[TrialLine], exit_code: int, state: str, said: str | None
) -> None:
    found = a_result(tmp_path, lines, gates=(), shape="agreement")

    suite = suite_of(found)

    name = "sse with 10 users: built-in clients and Locust agree"
    assert (found.exit_code, states(suite)[name]) == (exit_code, state)
    assert said is None or [each.get("message") for each in suite.iter(state)] == [said]


def test_a_shape_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="waves"):
        a_result(tmp_path, [a_line()], shape="waves")


VALIDITY, ENDING = "the load generator is valid", "the run is complete"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([a_line(lost=1)], ("passed", "passed", "failure", "passed")),
        ([], ("error", "passed", "skipped", "skipped")),
        ([a_line(lost=1), a_floor(warnings=(LATE,))], ("error", "passed", "skipped", "skipped")),
    ],
    ids=["one missed", "nothing was measured", "a generator without proof"],
)
def test_junit_has_a_case_for_each_gate_the_generator_and_the_ending(
    tmp_path: Path, lines: list[TrialLine | FloorLine], expected: tuple[str, ...]
) -> None:
    found = a_result(tmp_path, lines, gates=("lost==0", "delay_ms_p95<100"))

    suite = suite_of(found)

    assert states(suite) == dict(
        zip((VALIDITY, ENDING, "lost==0", "delay_ms_p95<100"), expected, strict=True)
    )
    counted = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counted == {
        "tests": "4",
        "failures": str(expected.count("failure")),
        "errors": str(expected.count("error")),
        "skipped": str(expected.count("skipped")),
    }
    assert (found.exit_code == 0) == (set(expected) == {"passed"})


def test_a_ci_service_finds_the_same_cases_from_run_to_run_with_times_that_sum_to_the_run(
    tmp_path: Path,
) -> None:
    gates = ("lost==0", "delay_ms_p95<100")
    suites = []
    for name, line in (("one", a_line()), ("two", a_line(lost=1, delays_ms=[9.0] * 20))):
        folder = tmp_path / name
        folder.mkdir()
        suites.append(suite_of(a_result(folder, [line], gates=gates), run=name))

    first, second = (
        [(case.get("classname"), case.get("name")) for case in each.iter("testcase")] for each in suites
    )
    assert first == second
    for name, suite in zip(("one", "two"), suites, strict=True):
        assert [(each.get("name"), each.get("value")) for each in suite.iter("property")] == [("run", name)]
        assert sum(float(case.get("time", "nan")) for case in suite.iter("testcase")) == 1.5
        assert suite.get("time") == "1.500"


def test_junit_survives_what_xml_cannot_hold(tmp_path: Path) -> None:
    warning = void("stored", text="bell \x07 & <tag>", advice="")
    found = a_result(tmp_path, [a_floor(warnings=(warning,)), a_line()])

    assert suite_of(found).get("errors") == "1"


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


@pytest.mark.parametrize(("lost", "state"), [(0, "skipped"), (1, "failure")])
def test_the_junit_of_a_run_that_broke_off_has_an_error_and_judges_only_what_was_missed(
    tmp_path: Path, lost: int, state: str
) -> None:
    analysis = replace(an_analysis(), run=replace(an_analysis().run, complete=False))
    a_result(tmp_path, [a_line(lost=lost), a_floor()])

    found = load_result(analysis, tmp_path)

    assert states(suite_of(found)) == {VALIDITY: "passed", ENDING: "error", "lost==0": state}
    assert found.exit_code == 1


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
