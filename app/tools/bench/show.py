"""Output of a bench: terminal tables with ratios, growth of the cost and promises; machine-readable result."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.tools.bench.criteria import SWARM_BUSY_MAX, Criterion
from app.tools.bench.machine import Cores
from app.tools.bench.plan import REPETITIONS_JUDGED_MIN, SEND, SERVERS, SERVERS_TO_NAME, transport_title
from app.tools.bench.run import BenchRun
from app.tools.bench.session import BURST_HTTP, BURST_INSIDE, CONNECT, MEMORY, PACED, SWARM, BenchCell
from app.tools.bench.summary import PAIRS, Growth, SummaryRow

KIND_WORDS = {
    PACED: "paced",
    BURST_HTTP: "back to back, HTTP",
    BURST_INSIDE: "back to back, inside",
    SWARM: "swarm's proof",
    CONNECT: "connect",
    MEMORY: "idle memory",
}
METRIC_WORDS = {
    "cpu_us": "CPU us each",
    "p50_ms": "p50 ms",
    "p99_ms": "p99 ms",
    "p99_pooled_ms": "p99 ms, all windows",
    "read_p99_ms": "p99 ms until read",
    "deliveries_per_s": "deliveries/s",
    "swarm_busy": "swarm's core",
    "connections_per_s": "connections/s",
    "bytes_per_connection": "bytes/connection",
}

PROBLEMS_SHOWN_MAX = 20


def print_result(
    done: BenchRun,
    rows: Sequence[SummaryRow],
    growths: Sequence[Growth],
    found: Sequence[Criterion],
    console: Console,
) -> None:
    """Print the whole result."""
    servers = SERVERS_TO_NAME if SEND in done.plan.servers else SERVERS
    pairs = [pair for pair in PAIRS if set(pair) <= set(servers)]
    for transport in done.plan.transports:
        table = table_of(
            f"{transport_title(transport)}: medians, and their ratios (back to back: ratios in a round)",
            ("what", "subscribers", "figure", *servers, *(f"{of}/{to}" for of, to in pairs)),
        )
        for row in rows:
            if row.transport == transport:
                table.add_row(*_cells(row, servers, pairs))
        console.print(table)
    if growths:
        table = table_of(
            "Cost against subscribers: log(cost) = a + b log(N), one fit per repetition",
            ("transport", "server", "from", "to", "b", "b lowest", "b highest", "cost ratio"),
        )
        for each in growths:
            table.add_row(*_growth_cells(each))
        console.print(table)
    print_criteria(found, console)
    print_problems(done, console)


def print_hold(cell: BenchCell, seconds: int, console: Console) -> None:
    """Print the result of holding connections."""
    values = {name: number_text(value) for name, value in cell.values.items()}
    mib = number_text((cell.values.get("rss_bytes") or 0.0) / 2**20)
    mark = "✓" if cell.is_valid else "✗"
    lines = (
        f"{mark} {cell.subscribers:,} connections in one process for {seconds} s, a notification a second:",
        f"  {values['deliveries']} deliveries, {values['lost']} lost, {values['duplicates']} duplicate, "
        f"{values['out_of_order']} out of order, {values['disconnects']} disconnected",
        f"  {values['idle_traffic']} heartbeats and answered pings",
        f"  p50 {values['p50_ms']} ms, p99 {values['p99_ms']} ms",
        f"  CPU {values['cpu_us']} us per delivery, {values['core_percent']} % of a core; RSS {mib} MiB",
        *(f"INVALID: {problem}" for problem in cell.problems),
    )
    for line in lines:
        _print(console, line)


def print_criteria(found: Sequence[Criterion], console: Console) -> None:
    """Print the promises, each with its measurement."""
    for each in found:
        mark = "?" if each.is_of_the_swarm else "✓" if each.met else "✗"
        style = "" if not each.judged else "green" if each.met else "bold red"
        word = "at least" if each.at_least else "at most"
        limit, measured = number_text(each.limit), number_text(each.measured)
        console.print(Text(f"{mark} {each.text}: {measured} ({word} {limit})", style=style))
    if any(each.is_of_the_swarm for each in found):
        _print(
            console,
            f"?: the swarm used {SWARM_BUSY_MAX:.0%} of its core or more, and the figure may be its own: no verdict.",
        )
    if any(not each.judged and not each.is_of_the_swarm for each in found):
        _print(
            console,
            f"Fewer than {REPETITIONS_JUDGED_MIN} valid repetitions behind some of these: an indication, no verdict.",
        )


def print_problems(done: BenchRun, console: Console) -> None:
    """Print why cells are invalid."""
    bad = [cell for cell in done.cells if not cell.is_valid]
    for cell in bad[:PROBLEMS_SHOWN_MAX]:
        where = f"{transport_title(cell.transport)} {cell.server}, {KIND_WORDS.get(cell.kind, cell.kind)}"
        level = f" {cell.subscribers}" if cell.subscribers else ""
        reasons = "; ".join(cell.problems)
        _print(console, f"INVALID {where}{level}, repetition {cell.repetition + 1}: {reasons}")
    if len(bad) > PROBLEMS_SHOWN_MAX:
        _print(console, f"... and {len(bad) - PROBLEMS_SHOWN_MAX} more; --json has them all.")


def cores_sentence(cores: Cores) -> str:
    """Return the sentence about the cores of server and swarm."""
    if cores.are_apart:
        return f"Server on core {cores.server}; swarm and publisher on core {cores.swarm}."
    return "Server, swarm and publisher share what cores there are: they take each other's time, and ratios suffer."


def _cells(row: SummaryRow, servers: Sequence[str], pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    medians = (row.medians.get(server) for server in servers)
    return (
        KIND_WORDS[row.kind],
        f"{row.subscribers:,}",
        METRIC_WORDS[row.metric],
        *(number_text(each) for each in medians),
        *(_ratio(row.ratio(of, to)) for of, to in pairs),
    )


def _growth_cells(each: Growth) -> tuple[str, ...]:
    lowest, highest = (min(each.exponents), max(each.exponents)) if each.exponents else (None, None)
    return (
        transport_title(each.transport),
        each.server,
        f"{each.fewest:,}",
        f"{each.most:,}",
        *(_signed(value) for value in (each.exponent, lowest, highest)),
        _ratio(each.ratio),
    )


def table_of(title: str, headings: Sequence[str]) -> Table:
    """Return a table without lines; words are left-aligned, numbers right-aligned."""
    table = Table(title=Text(title, style="bold"), title_justify="left", box=None, pad_edge=False)
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index in (0, 2) else "right", no_wrap=True)
    return table


def number_text(value: float | None) -> str:
    """Format with three significant digits; large numbers as whole ones."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"


def _print(console: Console, text: str) -> None:
    console.print(Text(text))


SCHEMA = 1


def result_text(
    done: BenchRun,
    rows: Sequence[SummaryRow],
    growths: Sequence[Growth],
    found: Sequence[Criterion],
    *,
    cores: Cores,
    conditions: Mapping[str, object],
    extra: Mapping[str, object] | None = None,
) -> str:
    """Return the JSON document; `extra`: parts that only this kind of bench has."""
    document = {
        "schema": SCHEMA,
        "kind": "bench",
        "valid": done.is_valid,
        "duration_s": round(done.duration_s, 3),
        "plan": dataclasses.asdict(done.plan),
        "cores": {"server": cores.server, "swarm": cores.swarm},
        "conditions": dict(conditions),
        "summary": [
            {**dataclasses.asdict(row), "ratios": {f"{of}/{to}": row.ratio(of, to) for of, to in PAIRS}}
            for row in rows
        ],
        "growth": [{**dataclasses.asdict(each), "exponent": each.exponent} for each in growths],
        "criteria": [{**dataclasses.asdict(each), "met": each.met} for each in found],
        **(extra or {}),
        "cells": [{**dataclasses.asdict(cell), "valid": cell.is_valid} for cell in done.cells],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"
