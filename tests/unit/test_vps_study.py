"""The VPS study's tables with a run's figures beside, from trials that were made up."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from app.core.errors import Malformed, Unfit
from app.core.messages import Message
from app.i18n import speaker
from app.lab.analysis.analyse import analyse
from app.tools.bench.machine import Cores
from app.tools.bench.own_redis import own_redis
from app.tools.load import trial_line
from app.tools.load.levels import FIGURES
from app.tools.load.page import load_html
from app.tools.load.probe_line import Probed, ProbeLine
from app.tools.load.result import LoadResult, load_result, result_part
from app.tools.load.show import print_load
from app.tools.load.vps_rows import REDIS_CPU
from app.tools.load.vps_study import Study
from tests.support.marked import words_of_no_catalogue
from tests.unit.load_lines import a_line
from tests.unit.support_run import RunMaker, a_plan

ARMS = ("C1 in memory", "C2 Redis", "C3 Redis cached")


def probed(**changes: Any) -> Probed:
    """Ten good answers, and a loop and a Redis that are quick."""
    values: dict[str, Any] = {
        "seconds": 2.0,
        "asked": 10,
        "failures": {},
        "answers_us": {"none": (2000,) * 10},
        "loop_us": (500, 700),
        "loop_failures": 0,
        "ping_us": (200, 400),
        "ping_failures": 0,
        "in_server_s": {},
        "redis_cpu_s": 0.01,
    }
    return Probed(**{**values, **changes})


CACHED = probed(
    asked=12,
    failures={"status 503": 2},
    answers_us={"hit": (1000,) * 8, "miss": (3000,) * 2},
    in_server_s={"hit": (8, 0.004), "miss": (2, 0.002)},
)


def result(folder: Path, lines: list[Any], probes: list[ProbeLine]) -> LoadResult:
    head = {"kind": "load", "schema": 1, "shape": "levels", "preset": "vps", "gates": ["lost==0"]}
    for line in (head, *(each.to_json() for each in (*lines, *probes))):
        trial_line.append(folder, line)
    run = RunMaker(plan=a_plan(blocks=1, client_counts=(2,), notifications=5)).run()
    return load_result(analyse(replace(run, complete=True)), folder)


def a_run(folder: Path, *, blocks: int = 8) -> LoadResult:
    """C2 is 3 ms slower than C1 in every block, C3 3.5 ms."""
    lines, probes = [], []
    for block in range(blocks):
        for place, (arm, delay_ms) in enumerate(zip(ARMS, (5.0, 8.0, 8.5), strict=True)):
            lines.append(
                a_line(arm=arm, transport="socketio", block=block, delays_ms=[delay_ms + block / 10] * 20)
            )
            own = CACHED if place == 2 else probed()
            probes.append(ProbeLine(1, block, arm, "socketio", 10, own))
    return result(folder, lines, probes)


def study_of(found: LoadResult) -> Study:
    assert found.study is not None
    return found.study


english = speaker("en")


def rows(study: Study, title: str) -> dict[str, Any]:
    (table,) = [each for each in study.tables if english(each.title).startswith(title)]
    return {english(row.figure): row for row in table.rows}


def test_the_extra_hops_cost_stands_beside_the_published_difference_with_its_interval(tmp_path: Path) -> None:
    hops = {(each.over, each.arm, english(each.figure)): each for each in study_of(a_run(tmp_path)).hops}

    hop = hops[ARMS[0], ARMS[1], "delivery, p50"]
    assert (hop.blocks, hop.published) == (8, 1)
    assert hop.estimate == pytest.approx(3.0, rel=0.01)
    assert hop.interval.low is not None
    assert hop.interval.low > 2.9
    assert hops[ARMS[0], ARMS[1], "delivery, mean"].published == pytest.approx(18.27)
    assert hops[ARMS[1], ARMS[2], "delivery, p50"].estimate == pytest.approx(0.5, abs=0.02)


def test_a_block_that_is_not_believed_on_one_side_counts_for_no_difference(tmp_path: Path) -> None:
    lines = [
        a_line(arm=arm, transport="socketio", block=block, is_believable=(arm, block) != (ARMS[0], 1))
        for block in range(3)
        for arm in ARMS[:2]
    ]

    found = result(tmp_path, lines, [])

    delivered = [each for each in study_of(found).hops if english(each.figure).startswith("delivery")]
    assert {each.blocks for each in delivered} == {2}


def test_tables_3_and_4_have_the_runs_figures_in_the_studys_rows(tmp_path: Path) -> None:
    study = study_of(a_run(tmp_path))

    stress, cache = rows(study, "Table 3"), rows(study, "Table 4")
    assert stress["delivery, p50"].published == (21, 22, 23)
    assert stress["over 500 ms"].measured == (0, 0, 0)
    assert stress["Redis round trip, mean"].measured == (pytest.approx(0.3),) * 3
    assert stress["event loop, mean"].measured == (pytest.approx(0.6),) * 3
    assert stress["HTTP failures"].measured == (0, 0, pytest.approx(2 / 12))
    assert stress["connections"].measured == (10, 10, 10)
    assert cache["cache hit, mean"].measured == (None, None, 1.0)
    assert cache["cache miss, mean"].published == (103.67, 50.33, 62.56)
    assert cache["without a cache, mean"].measured == (2.0, 2.0, None)
    assert cache["cache hit, within the server, mean"].measured == (None, None, pytest.approx(0.5))
    assert cache["cache hits, of all answers"].measured == (None, None, 0.8)
    assert cache["requests"].measured == (5, 5, 6)


def test_what_redis_itself_uses_stands_beside_the_servers_cpu(tmp_path: Path) -> None:
    """It runs on the server's core: 10 ms of it in each of C1's windows, and 14 ms in C2's, over 40 that arrived."""
    lines, probes = [], []
    for block in range(8):
        for arm, cpu_s in zip(ARMS[:2], (0.010, 0.014), strict=True):
            lines.append(a_line(arm=arm, transport="socketio", block=block))
            probes.append(ProbeLine(1, block, arm, "socketio", 10, probed(redis_cpu_s=cpu_s)))

    study = study_of(result(tmp_path, lines, probes))

    assert rows(study, "Table 3")[english(Message(REDIS_CPU))].measured == (
        pytest.approx(250),
        pytest.approx(350),
    )
    (hop,) = (each for each in study.hops if each.figure == Message(REDIS_CPU))
    assert (hop.blocks, hop.published) == (8, None)
    assert hop.estimate == pytest.approx(100)


def test_where_the_clock_of_redis_could_not_be_read_its_cpu_is_no_data(tmp_path: Path) -> None:
    lines = [a_line(arm=arm, transport="socketio") for arm in ARMS[:2]]
    probes = [ProbeLine(1, 0, arm, "socketio", 10, probed(redis_cpu_s=None)) for arm in ARMS[:2]]

    study = study_of(result(tmp_path, lines, probes))

    assert rows(study, "Table 3")[english(Message(REDIS_CPU))].measured == (None, None)
    assert [each.blocks for each in study.hops if each.figure == Message(REDIS_CPU)] == [0]


def test_durations_beside_a_trial_that_is_not_believed_stand_for_nothing_but_its_failures_count(
    tmp_path: Path,
) -> None:
    line = a_line(arm=ARMS[2], transport="socketio", is_believable=False)

    study = study_of(result(tmp_path, [line], [ProbeLine(1, 0, ARMS[2], "socketio", 10, CACHED)]))

    assert rows(study, "Table 4")["cache hit, mean"].measured == (None,)
    assert rows(study, "Table 3")["event loop, mean"].measured == (None,)
    assert rows(study, "Table 3")["HTTP failures"].measured == (pytest.approx(2 / 12),)


def test_what_was_not_asked_is_no_data_and_never_a_zero(tmp_path: Path) -> None:
    study = study_of(result(tmp_path, [a_line(arm=arm, transport="socketio") for arm in ARMS], []))

    for name in ("HTTP failures", "Redis round trip, mean", "event loop, mean"):
        assert rows(study, "Table 3")[name].measured == (None, None, None)


def test_page_terminal_and_json_say_the_same_in_both_languages(tmp_path: Path, marked: str) -> None:
    found = a_run(tmp_path)
    analysis = analyse(RunMaker(plan=a_plan(blocks=1, client_counts=(2,), notifications=5)).run())
    said = {}
    for language in ("en", "id", marked):
        file = io.StringIO()
        print_load(analysis, found, Console(file=file, width=160), language)
        said[language] = file.getvalue()

    assert not words_of_no_catalogue(load_html(analysis, found, marked), ARMS, "synthetic", *FIGURES)
    assert "What the way over Redis costs" in said["en"]
    assert "Tabel 4: cache HTTP, 10 pengguna" in said["id"]
    assert not words_of_no_catalogue(said.pop(marked), ARMS, "synthetic", *FIGURES)
    for words in said.values():
        assert "1030" in words
    values = json.loads(json.dumps(result_part(found), allow_nan=False))["study"]
    assert len(values["hops"]) == 12
    assert next(each["title"] for each in values["tables"]) == "Table 3: stress, 10 users"


def test_probes_come_back_from_their_line() -> None:
    line = ProbeLine(3, 1, ARMS[2], "socketio", 10, CACHED)

    assert ProbeLine.from_json(json.loads(json.dumps(line.to_json()))) == line
    with pytest.raises(Malformed):
        ProbeLine.from_json({"kind": "probes"})


def test_without_a_redis_to_start_the_preset_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(Unfit, match="redis-server"), own_redis(Cores(None, None)):
        pass
