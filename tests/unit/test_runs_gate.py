"""The gate on a comparison of runs: what it needs to be judged, and its sentence."""

from dataclasses import replace

import pytest

from app.core.plan.scenario import Plan
from app.core.trial import TrialRecord
from app.i18n import text
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.compare_runs import compare_runs
from app.lab.analysis.runs_gate import RunsGate, runs_gate
from app.lab.analysis.statistics.rank_sum import rank_sum_p, smallest_p
from app.lab.report.data.comparison import compared_json
from app.lab.report.statements import gate_sentence
from tests.unit.support_run import RunMaker, a_plan

PLAN = a_plan(client_counts=(1, 3), blocks=10, notifications=12)
FIGURES = 3 * 2 * 2
"""Metrics, arms, counts of clients."""


def broken_with_3(record: TrialRecord) -> TrialRecord:
    """A trial that is not in the comparison if it has three clients."""
    return replace(record, disconnects=1) if record.spec.clients == 3 else record


def a_run(name: str, *, plan: Plan = PLAN, slower: float = 1.0, is_broken: bool = False) -> Analysis:
    maker = RunMaker(plan, delay_ms=lambda arm, clients, client: 0.6 * slower, seed=len(name) + ord(name[-1]))
    run = maker.run()
    trials = tuple(map(broken_with_3, run.trials)) if is_broken else run.trials
    return analyse(replace(run, id=name, trials=trials))


def gate_of(*analyses: Analysis) -> RunsGate:
    return runs_gate(analyses, compare_runs(analyses))


def sentence(*analyses: Analysis) -> str:
    names = {each.run.id: each.run.id for each in analyses[1:]}
    return text(gate_sentence(gate_of(*analyses), names, "client"), "en")


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 3), (5, 8), (50, 60)])
def test_the_smallest_p_is_that_of_groups_apart(m: int, n: int) -> None:
    assert smallest_p(m, n) == rank_sum_p(list(map(float, range(m))), [100.0 + each for each in range(n)])
    assert smallest_p(m, 0) == 1.0


def test_a_run_like_the_first_holds_the_gate() -> None:
    gate = gate_of(a_run("base"), a_run("same"))

    assert (gate.verdict, len(gate.expected), gate.unjudged) == ("held", FIGURES, ())
    assert sentence(a_run("base"), a_run("same")) == "Gate held: none of 12 figures got worse."


def test_what_got_worse_misses_the_gate_though_another_figure_is_not_judged() -> None:
    slow = a_run("slow", slower=2.0, is_broken=True)

    gate = gate_of(a_run("base"), slow)

    assert gate.verdict == "missed"
    assert gate.unjudged
    assert sentence(a_run("base"), slow).startswith(f"Gate missed: {gate.worse} of 12 figures got worse.")


@pytest.mark.parametrize("is_base_broken", [False, True])
def test_a_figure_that_one_of_the_runs_lacks_is_not_judged(is_base_broken: bool) -> None:
    runs = [a_run("base"), a_run("broken", is_broken=True)]
    if is_base_broken:
        runs.reverse()

    gate = gate_of(*runs)

    assert gate.verdict == "not_judged"
    assert {each.clients for each in gate.unjudged} == {3}
    assert len(gate.unjudged) == FIGURES // 2
    assert sentence(*runs) == (
        "Gate not judged: 6 of 12 figures have too few valid trials in one of the runs to show a change "
        "(median delay of SSE with 3 clients, median delay of Socket.IO with 3 clients, server CPU per notification "
        "of SSE with 3 clients and 3 more)."
    )


def test_too_few_blocks_to_find_anything_are_no_proof_that_nothing_got_worse() -> None:
    """Three trials against three differ with a p of 0.1 at best, however much slower one is."""
    quick = replace(PLAN, blocks=3)
    runs = a_run("base", plan=quick), a_run("slow", plan=quick, slower=5.0)

    assert gate_of(*runs).verdict == "not_judged"


def test_what_only_one_plan_asks_for_is_not_expected() -> None:
    fewer = a_run("fewer", plan=replace(PLAN, client_counts=(3, 6)))

    gate = gate_of(a_run("base"), fewer)

    assert (gate.verdict, {each.clients for each in gate.expected}) == ("held", {3})


def test_runs_with_nothing_in_common_are_not_judged_nor_is_one_of_several() -> None:
    other = a_run("other", plan=replace(PLAN, client_counts=(6,)))

    assert sentence(a_run("base"), other) == "Gate not judged: the runs have no figure in common."
    assert gate_of(a_run("base"), a_run("same"), other).verdict == "not_judged"


def test_the_json_has_the_verdict_and_names_what_was_not_judged() -> None:
    found = compared_json([a_run("base"), a_run("broken", is_broken=True)])["gate"]

    assert (found["verdict"], found["figures"], found["worse"]) == ("not_judged", FIGURES, 0)
    assert found["not_judged"][0] == {"run": "broken", "metric": "delay_ms_p50", "arm": "sse", "clients": 3}
