"""`result.json` and the printed page: one model, the same figures, no NaN, nothing cut off."""

import csv
import io
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy
import pytest
from rich.console import Console

from app.core.messages import interval, number
from app.core.plan.scenario import Arm, Plan
from app.core.trial import RunRecord, Severity, TrialRecord, TrialWarning
from app.i18n import speaker, text
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.report.contents.comparison import comparison_document
from app.lab.report.data.csv_files import DELIVERY_COLUMNS, TRIAL_COLUMNS
from app.lab.report.data.result import result_json, result_text
from app.lab.report.files import write_all
from app.lab.report.renderers.console.document import print_document
from app.lab.report.renderers.console.page import Page
from app.lab.report.renderers.console.result import print_details, print_first_screen
from tests.unit.support_run import RunMaker, a_plan

TRIAL_KEYS = {
    *(
        "arm",
        "transport",
        "factors",
        "clients",
        "block",
        "notifications",
        "expected",
        "delivered",
        "lost",
        "late",
    ),
    *(
        "duplicates",
        "out_of_order",
        "delay_ms",
        "samples",
        "clock_bound_ms",
        "source_lag_ms_p99",
        "jitter_ms",
    ),
    *("cpu", "valid", "warnings"),
}
CPU_KEYS = {"user_s", "system_s", "total_s", "core_percent", "per_delivery_us", "delta_points"}
COMPARISON_KEYS = {
    *("metric", "clients", "a", "b", "estimate", "low", "high", "verdict", "equivalent", "text", "family"),
}


def with_trouble(record: TrialRecord) -> TrialRecord:
    """Some trials void, some noted, one without any delivery and one without CPU."""
    if record.spec.index == 4:
        return replace(record, disconnects=1)
    if record.spec.index == 5:
        return replace(record, deliveries=(), disturbances=2)
    if record.spec.index == 7:
        return replace(record, cpu=None, source_lag_us=())
    return record


def quick(plan: Plan | None = None) -> Plan:
    return replace(plan or a_plan(), blocks=3)


RUNS: dict[str, Callable[[], RunRecord]] = {
    "demo": lambda: RunMaker().run(),
    "quick": lambda: RunMaker(quick()).run(),
    "a/a": lambda: RunMaker(a_plan(arms=("sse", "sse"))).run(),
    "trouble": lambda: RunMaker(alter=with_trouble).run(),
    "stopped at once": lambda: RunMaker().run(complete=False, blocks_done=0),
    "one client, one block": lambda: RunMaker(replace(a_plan(client_counts=(1,)), blocks=1)).run(),
    "long": lambda: RunMaker(a_plan(client_counts=(1,), notifications=120)).run(),
    "three arms": lambda: RunMaker(a_plan(arms=("sse", "socketio", "socketio"), client_counts=(1, 3))).run(),
    "one arm": lambda: RunMaker(a_plan(arms=("socketio",))).run(),
    "on a LAN": lambda: replace(RunMaker(a_plan(environment="lan")).run(), simulated=False),
}


@cache
def analysed(name: str) -> Analysis:
    return analyse(RUNS[name]())


@pytest.fixture(params=RUNS)
def analysis(request: pytest.FixtureRequest) -> Analysis:
    return analysed(request.param)


def printed(analysis: Analysis, *, width: int = 80) -> str:
    file = io.StringIO()
    print_first_screen(analysis, Console(file=file, width=width))
    print_details(analysis, Console(file=file, width=width))
    return file.getvalue()


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def numbers_in(value: object) -> list[float]:
    if isinstance(value, dict):
        return [number for each in value.values() for number in numbers_in(each)]
    if isinstance(value, list):
        return [number for each in value for number in numbers_in(each)]
    return [value] if isinstance(value, float) else []


def test_the_result_has_the_keys_of_schema_1(analysis: Analysis) -> None:
    result = result_json(analysis)

    assert result["schema"] == 1
    assert result["run"]["id"] == analysis.run.id
    for trial in result["trials"]:
        assert trial.keys() >= TRIAL_KEYS
        assert trial["delay_ms"].keys() == {"mean", "p50", "p95", "p99", "max"}
        assert trial["cpu"].keys() >= CPU_KEYS
        assert trial["transport"] in ("sse", "socketio")
        assert trial["expected"] == trial["notifications"] * trial["clients"]
        assert trial["delivered"] + trial["lost"] == trial["expected"]
    for comparison in result["comparison"]:
        assert comparison.keys() >= COMPARISON_KEYS
        assert comparison["verdict"] in ("lower_a", "lower_b", "undecided", "invalid")
        assert isinstance(comparison["equivalent"], bool)


def test_the_result_is_strict_json_without_nan_and_reads_back(analysis: Analysis) -> None:
    text = result_text(analysis)

    read = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))

    assert read == json.loads(json.dumps(result_json(analysis)))
    assert all(map(math.isfinite, numbers_in(read)))
    assert text.isascii()


def test_what_json_cannot_say_in_the_conditions_is_null() -> None:
    run = replace(RUNS["quick"](), conditions={"load": [math.nan, 1.0], "deep": {"x": math.inf}, "t": (1, 2)})

    conditions = json.loads(result_text(analyse(run)))["conditions"]

    assert conditions == {"load": [None, 1.0], "deep": {"x": None}, "t": [1, 2]}


def test_idle_windows_are_no_trials() -> None:
    result = result_json(analysed("demo"))

    assert (len(result["trials"]), len(result["idle"])) == (48, 24)
    assert result["idle"][0]["core_percent"] == pytest.approx(0.25)


def test_a_trials_cpu_can_be_recomputed_from_the_result() -> None:
    result = result_json(analysed("demo"))
    idle = {(each["clients"], each["block"]): each["total_s"] / each["wall_s"] for each in result["idle"]}

    for trial in result["trials"]:
        net_s = trial["cpu"]["total_s"] - idle[trial["clients"], trial["block"]] * 1.1
        assert trial["cpu"]["delta_points"] == pytest.approx(100 * net_s / (1.1 * 2))
        assert trial["cpu"]["per_delivery_us"] == pytest.approx(1e6 * net_s / trial["cpu"]["deliveries"])


def test_every_printed_figure_is_the_results(analysis: Analysis) -> None:
    result = result_json(analysis)
    cells = [line.split() for line in printed(analysis).splitlines()]

    for row in result["summary"]:
        figures = [
            *(row["clients"], row["samples"]),
            *(number(row[name]) for name in ("delay_ms_p50", "delay_ms_p95", "delay_ms_p99", "jitter_ms")),
            *(row["lost"], row["duplicates"]),
            *(number(row[name]) for name in ("cpu_per_delivery_us", "delta_points")),
        ]
        assert any(line[-10:] == list(map(str, figures)) for line in cells), row
    for row in result["comparison"]:
        ends = text(interval(row["low"], row["high"]), "en").split()
        figures = [str(row["clients"]), number(row["estimate"]), *ends, str(row["blocks"])]
        assert any(" ".join(figures) in " ".join(line) for line in cells), row


def test_every_verdict_is_printed_on_a_line_of_its_own(analysis: Analysis) -> None:
    lines = printed(analysis).splitlines()

    for comparison in result_json(analysis)["comparison"]:
        assert (comparison["text"] in lines) is (comparison["family"] == "confirmatory")


@pytest.mark.parametrize("width", [80, 100, 60])
def test_the_page_is_plain_and_nothing_is_cut_off(width: int) -> None:
    analysis = analysed("trouble")

    text = printed(analysis, width=width)

    assert "\x1b" not in text, "no colour codes in a pipe"
    assert "…" not in text
    tables = [
        line for line in text.splitlines() if line.startswith(("SSE ", "Socket.IO ", "delay ms", "CPU/"))
    ]
    verdicts = [each["text"] for each in result_json(analysis)["comparison"]]
    assert all(len(line) <= width for line in tables if line not in verdicts)


def test_control_characters_of_a_run_from_elsewhere_do_not_reach_the_terminal() -> None:
    nasty = "a\x1b]0;title\x07\x9b2J\rb"
    plan = replace(a_plan(client_counts=(1,), blocks=1), arms=(Arm("sse", "sse"), Arm(nasty, "sse")))
    warning = TrialWarning("forced", Severity.NOTE, {"text": f"It {nasty}.", "advice": f"Do {nasty}."})
    run = RunMaker(plan, alter=lambda record: replace(record, warnings=(warning,))).run()
    analysis, file = analyse(replace(run, id=nasty)), io.StringIO()
    print_document(
        comparison_document([analysis, analysis]), Page(Console(file=file, width=80), speaker("en"))
    )

    for shown in (printed(analysis), file.getvalue()):
        assert "a?]0;title??2J?b" in "".join(shown.split())
        assert not [each for each in shown if each != "\n" and not each.isprintable()]


def test_a_table_row_stays_on_one_line_of_80_columns_with_large_figures() -> None:
    slow = RunMaker(a_plan(notifications=200), delay_ms=lambda arm, clients, client: 1234.5).run()

    lines = [line for line in printed(analyse(slow)).splitlines() if line.startswith("Socket.IO ")]

    assert len([line for line in lines if len(line.split()) == 11]) == 3


def test_a_terminal_gets_no_longer_lines_than_it_has_columns() -> None:
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True, no_color=True)

    print_first_screen(analysed("quick"), console)
    print_details(analysed("quick"), console)

    shown = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    assert max(map(len, shown.splitlines())) <= 80


def test_warnings_are_printed_with_their_advice() -> None:
    text = " ".join(printed(analysed("trouble")).split())

    assert "VOID disconnected (trial 4): 1 connection broke during the trial." in text
    assert "Look for the reason in the server's log" in text
    assert "INCOMPLETE" not in text
    assert "INCOMPLETE" in printed(analysed("stopped at once"))


def test_quick_is_always_undecided_and_says_how_many_blocks_are_missing() -> None:
    result = result_json(analysed("quick"))

    for comparison in result["comparison"]:
        assert comparison["verdict"] == "undecided"
        assert "more blocks needed)" in comparison["text"]
        assert (comparison["low"], comparison["high"]) == (None, None)


def test_the_csv_files_have_the_documented_columns_and_all_rows(analysis: Analysis, tmp_path: Path) -> None:
    write_all(analysis, tmp_path)

    deliveries = rows_of(tmp_path / "deliveries.csv")
    trials = rows_of(tmp_path / "trials.csv")

    assert len(deliveries) == sum(len(each.deliveries) for each in analysis.run.trials)
    assert len(trials) == len(analysis.run.trials)
    assert all(row.keys() == DELIVERY_COLUMNS.keys() for row in deliveries)
    assert all(row.keys() == TRIAL_COLUMNS.keys() for row in trials)
    assert "nan" not in (tmp_path / "trials.csv").read_text()


def test_a_trials_median_can_be_recomputed_from_deliveries_csv(tmp_path: Path) -> None:
    analysis = analysed("demo")
    write_all(analysis, tmp_path)
    rows = rows_of(tmp_path / "deliveries.csv")

    for trial in result_json(analysis)["trials"]:
        own = [row for row in rows if row["trial"] == str(trial["trial"]) and row["sample"] == "1"]
        clients = {row["client"] for row in own}
        medians = [
            numpy.median([float(row["delay_ms"]) for row in own if row["client"] == client])
            for client in clients
        ]
        assert trial["delay_ms"]["p50"] == pytest.approx(float(numpy.median(medians)), abs=1e-6)


def test_all_files_are_written_and_a_second_time_over_them(tmp_path: Path) -> None:
    analysis = analysed("quick")

    first = [path.read_bytes() for path in write_all(analysis, tmp_path)]
    second = [path.read_bytes() for path in write_all(analysis, tmp_path)]

    assert first == second, "the same record gives the same files"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("clients.csv", "deliveries.csv", "report.html", "result.json", "trials.csv"),
    ]


def test_a_run_that_is_invalid_throughout_says_so_first_and_makes_no_claim_beside_its_verdict() -> None:
    plan = a_plan(client_counts=(1, 3), notifications=6)
    busy = RunMaker(plan, alter=lambda record: replace(record, disconnects=1)).run()
    partly = RunMaker(
        plan, alter=lambda record: replace(record, disconnects=1) if record.spec.clients == 3 else record
    ).run()

    none, some = (" ".join(printed(analyse(each)).split()) for each in (busy, partly))

    assert none.startswith("SSE or Socket.IO? No result: a connection was lost in 32 of 32 rounds. 1 and 3 ")
    assert some.startswith("SSE and Socket.IO: SSE faster with 1 client; no result with 3 clients. 1 and 3 ")
    assert "would have said" not in none
    assert re.findall(r"would have said \S+ faster at (\d)", some) == ["1"]
