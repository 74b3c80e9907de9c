"""Terminal output of the bench of several processes: medians, ratios with intervals, and sharing of cores."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from app.lab.measure.cpu import usable_cores
from app.tools.bench.plan import transport_title
from app.tools.bench.run import BenchRun
from app.tools.bench.several import SeveralPlan, is_oversubscribed
from app.tools.bench.several_summary import METRICS, Ratio, median_of
from app.tools.bench.show import KIND_WORDS, METRIC_WORDS, number_text, print_problems, table_of

WORDS = {**METRIC_WORDS, "redis_cpu_us": "Redis' CPU us each"}

NOTE = (
    "CPU us each: of all server processes together, per delivery; Redis' stands apart. Ratios: the middle of the "
    "repetitions' ratios, with its exact 95 % interval. One publisher, on one connection."
)


def print_several(done: BenchRun, plan: SeveralPlan, found: Sequence[Ratio], console: Console) -> None:
    """Print the whole result."""
    names = [_title(arm.name, arm.processes) for arm in plan.arms]
    pairs = list(dict.fromkeys((each.of, each.to) for each in found))
    headings = ("what", "subscribers", "figure", *names, *(f"{of}/{to}" for of, to in pairs))
    for transport in plan.transports:
        table = table_of(f"{transport_title(transport)}: medians, and ratios [95 %]", headings)
        for kind, metric in METRICS:
            values = [median_of(done.cells, arm.name, transport, kind, metric) for arm in plan.arms]
            own = {
                (each.of, each.to): each
                for each in found
                if (each.transport, each.kind, each.metric) == (transport, kind, metric)
            }
            table.add_row(
                KIND_WORDS[kind],
                f"{plan.subscribers:,}",
                WORDS[metric],
                *map(number_text, values),
                *(_ratio_text(own[pair]) for pair in pairs),
            )
        console.print(table)
    console.print(Text(NOTE))
    console.print(Text(places_sentence(plan)))
    print_problems(done, console)


def places_sentence(plan: SeveralPlan) -> str:
    """Return the sentence that says whether every busy process has a core of its own."""
    cores = usable_cores()
    over = [arm.name for arm in plan.arms if is_oversubscribed(arm.processes)]
    if not over:
        return f"A core for each server process and for the swarm ({cores} cores)."
    return (
        f"OVERSUBSCRIBED: {', '.join(over)}, with Redis, swarm and publisher beside, on {cores} core"
        f"{'s' if cores > 1 else ''}. They take each other's time: this is what more processes cost here, not what they "
        "would give with a core each."
    )


def _title(name: str, processes: int) -> str:
    return f"{name} *" if is_oversubscribed(processes) else name


def _ratio_text(each: Ratio) -> str:
    if each.ratio is None:
        return "-"
    if each.low is None or each.high is None:
        return f"{each.ratio:.2f}"
    return f"{each.ratio:.2f} [{each.low:.2f}, {each.high:.2f}]"
