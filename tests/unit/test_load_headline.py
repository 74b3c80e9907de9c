"""Headline of a load run: the list of its rules in both languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from app.i18n import LANGUAGES, text
from app.lab.analysis.analyse import analyse
from app.lab.analysis.headline import headline
from app.tools.load.headline import load_headline
from app.tools.load.levels import FIGURES
from app.tools.load.result import LoadResult
from app.tools.load.trial_line import FloorLine, TrialLine
from tests.unit.load_lines import LATE, a_floor, a_line, a_result, an_analysis
from tests.unit.support_run import RunMaker, a_plan


def slow(users: int, ms: float, **changes: object) -> TrialLine:
    return a_line(users=users, connected=users, delays_ms=[ms] * 20, **changes)


def busy(**changes: object) -> TrialLine:
    return a_line(is_believable=False, void_codes=("generator_busy",), **changes)


def pair(built_in_ms: float, locust_ms: float) -> list[TrialLine]:
    return [
        a_line(generator=generator, arm=f"sse, {generator}", delays_ms=[ms] * 20)
        for generator, ms in (("built-in", built_in_ms), ("locust", locust_ms))
    ]


SOCKETIO = {"arm": "socketio", "transport": "socketio"}


@dataclass(frozen=True)
class Case:
    rule: str
    english: str
    indonesian: str
    lines: Sequence[TrialLine | FloorLine]
    gates: tuple[str, ...] = ("lost==0",)
    shape: str = "levels"
    changes: dict[str, object] = field(default_factory=dict)


CASES = {
    "nothing was measured": Case("nothing", "Nothing was measured.", "Tidak ada yang diukur.", []),
    "stopped, though a gate is missed": Case(
        "stopped",
        "Stopped early, after 2 rounds: no result.",
        "Dihentikan lebih awal, setelah 2 putaran: tanpa hasil.",
        [a_line(lost=1), a_line()],
        changes={"complete": False},
    ),
    "invalid, though a gate is missed": Case(
        "invalid",
        "No result: the load generator was saturated in 2 of 3 rounds.",
        "Tanpa hasil: pembangkit beban sudah jenuh dalam 2 dari 3 putaran.",
        [busy(lost=5), busy(), a_line()],
    ),
    "invalid by the neutral source alone": Case(
        "invalid",
        "No result: the load generator was not fast enough against the neutral source.",
        "Tanpa hasil: pembangkit beban tidak cukup cepat terhadap sumber netral.",
        [a_line(), a_floor(warnings=(LATE,))],
    ),
    "a ramp with a limit for each arm": Case(
        "capacity",
        "SSE holds 1,000 users; Socket.IO misses a gate with the fewest users already.",
        "SSE sanggup melayani 1.000 pengguna; Socket.IO sudah melanggar syarat dengan pengguna paling sedikit.",
        [slow(1000, 5.0), slow(2000, 50.0), slow(1000, 50.0, **SOCKETIO)],
        ("delay_ms_p95<20",),
        "ramp",
    ),
    "a ramp that the generator ended": Case(
        "capacity",
        "SSE holds at least 1,000 users.",
        "SSE sanggup melayani sedikitnya 1.000 pengguna.",
        [slow(1000, 5.0), busy(users=2000)],
        ("delay_ms_p95<20",),
        "ramp",
    ),
    "a ramp that ended before any limit": Case(
        "capacity",
        "SSE holds at least 2,000 users.",
        "SSE sanggup melayani sedikitnya 2.000 pengguna.",
        [slow(1000, 5.0), slow(2000, 5.0)],
        ("delay_ms_p95<20",),
        "ramp",
    ),
    "a ramp that lost something before its limit": Case(
        "capacity",
        "SSE holds 1,000 users. SSE delivered 20 of 20 twice.",
        "SSE sanggup melayani 1.000 pengguna. SSE mengirim 20 dari 20 dua kali.",
        [slow(1000, 5.0, duplicates=20), slow(2000, 50.0, lost=3)],
        ("delay_ms_p95<20",),
        "ramp",
    ),
    "duplicates that no gate is about": Case(
        "losses",
        "SSE delivered 20 of 20 twice. Gate met. Holds 10 users: 95 % within 5.00 ms.",
        "SSE mengirim 20 dari 20 dua kali. Syarat terpenuhi. Sanggup melayani 10 pengguna: 95% dalam "
        "5,00 ms.",
        [a_line(duplicates=20)],
    ),
    "a loss that a gate is about": Case(
        "losses",
        "SSE lost 3 of 20. 2 of 3 gates missed: p95 34.0 ms above 20 ms; lost 3 above 0. With 5,000 users: "
        "95 % within 34.0 ms.",
        "SSE kehilangan 3 dari 20. 2 dari 3 syarat tidak terpenuhi: p95 34,0 ms di atas 20 ms; hilang 3 di atas 0. "
        "Dengan 5.000 pengguna: 95% dalam 34,0 ms.",
        [slow(5000, 34.0, lost=3)],
        ("delay_ms_p95<20", "lost==0", "errors==0"),
    ),
    "losses of two arms without a gate, one of them in a round that does not count": Case(
        "losses",
        "SSE lost 1 of 40 and Socket.IO delivered 2 of 20 twice. With 10 users, 95 % within: SSE 5.00 ms; "
        "Socket.IO 5.00 ms.",
        "SSE kehilangan 1 dari 40 dan Socket.IO mengirim 2 dari 20 dua kali. Dengan 10 pengguna, 95% dalam: "
        "SSE 5,00 ms; Socket.IO 5,00 ms.",
        [a_line(), busy(lost=1), a_line(duplicates=2, **SOCKETIO)],
        (),
        "steps",
    ),
    "clients that agree on what was lost": Case(
        "losses",
        "sse, locust lost 1 of 20. Built-in clients and Locust agree in 1 of 1 comparisons.",
        "sse, locust kehilangan 1 dari 20. Klien bawaan dan Locust sesuai dalam 1 dari 1 perbandingan.",
        [pair(1.0, 1.05)[0], replace(pair(1.0, 1.05)[1], lost=1)],
        (),
        "agreement",
    ),
    "clients of which no block has both": Case(
        "not_compared",
        "Built-in clients and Locust were not compared in 1 of 1 comparisons: no block has a valid trial of both.",
        "Klien bawaan dan Locust tidak dibandingkan pada 1 dari 1 perbandingan: tidak ada blok dengan putaran sah "
        "dari keduanya.",
        [replace(each, block=1, is_believable=each.generator == "locust") for each in pair(1.0, 1.05)]
        + [replace(each, is_believable=each.generator != "locust") for each in pair(1.0, 1.05)],
        (),
        "agreement",
    ),
    "clients that differ": Case(
        "disagree",
        "Built-in clients and Locust differ in 1 of 1 comparisons.",
        "Klien bawaan dan Locust berbeda dalam 1 dari 1 perbandingan.",
        pair(1.0, 2.0),
        (),
        "agreement",
    ),
    "clients that agree": Case(
        "agree",
        "Built-in clients and Locust agree in 1 of 1 comparisons.",
        "Klien bawaan dan Locust sesuai dalam 1 dari 1 perbandingan.",
        pair(1.0, 1.05),
        (),
        "agreement",
    ),
    "two of three gates missed": Case(
        "missed",
        "2 of 3 gates missed: p95 34.0 ms above 20 ms; errors 3 above 0. With 5,000 users: 95 % within 34.0 ms.",
        "2 dari 3 syarat tidak terpenuhi: p95 34,0 ms di atas 20 ms; galat 3 di atas 0. "
        "Dengan 5.000 pengguna: 95% dalam 34,0 ms.",
        [slow(5000, 34.0, disconnects=3)],
        ("delay_ms_p95<20", "lost==0", "errors==0"),
    ),
    "a gate missed from below": Case(
        "missed",
        "Gate missed: connected 50.0 % below 99 %. With 10 users: 95 % within 5.00 ms.",
        "Syarat tidak terpenuhi: tersambung 50,0% di bawah 99%. Dengan 10 pengguna: 95% dalam 5,00 ms.",
        [a_line(connected=5)],
        ("connected_percent>=99",),
    ),
    "a gate missed exactly at its limit": Case(
        "missed",
        "Gate missed: errors 3 at the limit. With 10 users: 95 % within 5.00 ms.",
        "Syarat tidak terpenuhi: galat 3 tepat di batas. Dengan 10 pengguna: 95% dalam 5,00 ms.",
        [a_line(disconnects=3)],
        ("errors<3",),
    ),
    "a figure that was not measured": Case(
        "missed",
        "Gate missed: CPU per delivery not measured. With 10 users: 95 % within 5.00 ms.",
        "Syarat tidak terpenuhi: CPU per pengiriman tidak diukur. Dengan 10 pengguna: 95% dalam 5,00 ms.",
        [a_line()],
        ("cpu_per_delivery_us<9",),
    ),
    "all gates met by one arm": Case(
        "met",
        "All 2 gates met. Holds 5,000 users: 95 % within 18.0 ms.",
        "Semua 2 syarat terpenuhi. Sanggup melayani 5.000 pengguna: 95% dalam 18,0 ms.",
        [slow(50, 3.0), slow(5000, 18.0)],
        ("delay_ms_p95<20", "lost==0"),
    ),
    "one gate met in stages by two arms": Case(
        "met",
        "Gate met. With 500 users, 95 % within: SSE 12.0 ms; Socket.IO 15.0 ms.",
        "Syarat terpenuhi. Dengan 500 pengguna, 95% dalam: SSE 12,0 ms; Socket.IO 15,0 ms.",
        [slow(500, 12.0), slow(500, 15.0, **SOCKETIO)],
        ("lost==0",),
        "steps",
    ),
    "no gate and one arm": Case(
        "none",
        "With 500 users: 95 % within 12.0 ms.",
        "Dengan 500 pengguna: 95% dalam 12,0 ms.",
        [slow(500, 12.0)],
        (),
    ),
}


def result_of(case: Case, folder: Path) -> LoadResult:
    found = a_result(folder, case.lines, gates=case.gates, shape=case.shape)
    return replace(found, **case.changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CASES)
def test_the_first_rule_that_holds_decides(name: str, tmp_path: Path) -> None:
    case = CASES[name]

    found = load_headline(an_analysis(), result_of(case, tmp_path))

    assert found.rule == case.rule
    assert [text(found.whole, language) for language in LANGUAGES] == [case.english, case.indonesian]


def test_where_arms_are_compared_the_runs_own_headline_follows_the_gates(tmp_path: Path) -> None:
    analysis = an_analysis()
    result = a_result(tmp_path, [a_line(), a_line(**SOCKETIO)])

    found = load_headline(analysis, result)

    assert text(found.whole, "en") == f"Gate met. {text(headline(analysis).sentence, 'en')}"


def test_every_figure_of_a_gate_has_a_short_name(tmp_path: Path) -> None:
    gates = tuple(f"{name}>999999" for name in FIGURES)

    found = load_headline(an_analysis(), a_result(tmp_path, [a_line()], gates=gates))

    assert text(found.whole, "id").startswith(f"{len(FIGURES)} dari {len(FIGURES)} syarat tidak terpenuhi: ")


def test_a_run_with_one_arm_has_a_headline_without_a_comparison(tmp_path: Path) -> None:
    analysis = analyse(
        RunMaker(plan=a_plan(arms=("sse",), blocks=1, client_counts=(2,), notifications=5)).run()
    )

    found = load_headline(analysis, a_result(tmp_path, [a_line()], gates=()))

    assert text(found.whole, "en") == "With 10 users: 95 % within 5.00 ms."
