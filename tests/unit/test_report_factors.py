"""Factors in the report: what a run with four arms says, and what a plain one leaves out."""

import json
from dataclasses import replace
from functools import cache

from app.core.plan.scenario import Arm
from app.i18n import text
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.report.data.result import factors_json
from app.lab.report.figures.factors import effects_table, factor_figure, factor_tables, share_table
from app.lab.report.renderers.html import report_html
from tests.unit.support_run import RunMaker, a_plan

FOUR = tuple(Arm(f"{t}-{f}", t, {"fanout": f}) for t in ("sse", "socketio") for f in ("direct", "stock"))


@cache
def four_arms() -> Analysis:
    """Socket.IO adds 0.1 ms, stock fan-out 0.5 ms."""
    maker = RunMaker(
        replace(a_plan(client_counts=(1, 3)), arms=FOUR),
        delay_ms=lambda arm, clients, client: (
            0.6 + 0.1 * (arm.transport == "socketio") + 0.5 * (arm.factors["fanout"] == "stock")
        ),
        block_noise=0.01,
    )
    return analyse(maker.run())


def plain(*arms: str) -> Analysis:
    return analyse(RunMaker(a_plan(arms=arms, client_counts=(1,))).run())


def test_levels_are_set_against_those_of_the_plans_first_arm() -> None:
    table = factor_tables(four_arms())[0]

    assert [effect.levels for effect in table.effects if effect.kind == "main"] == [
        (("sse", "socketio"),),
        (("direct", "stock"),),
        ((1, 3),),
    ]
    assert [round(effect.estimate or 0, 1) for effect in table.effects[:3]] == [0.1, 0.5, 0.0]


def test_the_shares_of_a_difference_name_protocol_and_fan_out() -> None:
    table = share_table(four_arms())

    assert table is not None
    delays = [row for row in table.rows if text(row[0], "en") == "delay, ms" and row[1] == 1]
    assert [(row[2], text(row[3], "en")) for row in delays] == [
        ("socketio-stock - sse-direct", "transport"),
        ("socketio-stock - sse-direct", "fanout"),
    ]


def test_the_page_and_the_json_have_them() -> None:
    page, found = report_html(four_arms()), json.loads(json.dumps(factors_json(four_arms()), allow_nan=False))

    assert "What makes the difference" in page
    assert "fanout: direct &gt; stock" in page
    assert [table["metric"] for table in found] == ["delay_ms_p50", "cpu_per_delivery_us"]
    assert found[0]["shares"][0]["parts"][0]["factor"] == "transport"


def test_a_plain_run_has_the_transport_alone_and_one_arm_nothing() -> None:
    two, one = plain("sse", "socketio"), plain("sse")

    assert [text(row[2], "en") for row in effects_table(factor_tables(two)).rows] == [
        "transport",
        "transport",
    ]
    assert share_table(two) is None
    assert factor_tables(one) == ()
    assert factor_figure(one, ()) is None
    assert factor_figure(plain("sse", "sse"), factor_tables(plain("sse", "sse"))) is None
