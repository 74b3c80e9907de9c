"""Tables and sentences of a load run, shared by the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.lab.analysis.words import TRANSPORT_TITLES, interval, number
from app.tools.load.agreement import Agreement
from app.tools.load.capacity import Capacity
from app.tools.load.levels import FIGURES, Level, title_of
from app.tools.load.result import LoadResult
from app.tools.load.vps_hops import Hop

LEVEL_HEADINGS = (
    *("arm", "users", "trials", "delay median ms", "p95 ms", "p99 ms", "self ms", "lost", "errors"),
    *("connect p95 ms", "CPU us/ notif."),
)
LEVEL_NOTE = (
    "Delays: from when a notification was due to the receive stamp of the user's kernel. Self: what the generator "
    "added until it had read, which is in no delay here. ~: fewer broadcasts than a tail needs (p95 100, p99 500); it "
    "describes these. Errors: handshakes that failed and connections that broke."
)
GENERATOR_HEADINGS = (
    *("arm", "users", "connected of users", "attempts", "core, most in 1 s %", "loop lag p99 ms"),
    *("handler median ms", "floor median ms", "floor range ms", "floor p99 ms", "void"),
)
GENERATOR_NOTE = (
    "Floor: the same users and rate against a plain loop of send, measured in each block beside the trials; median and "
    "range of its medians, and median of its p99. Void: trials that are not believed, of all. Limits: 99.5 % connected, "
    "70 % of a core in any second, a loop lag of 50 ms."
)
AGREEMENT_HEADINGS = (
    *("transport", "users", "blocks", "built-in ms", "Locust ms", "difference ms", "margin ms", "agree"),
)
BROKEN_OFF = (
    "The run broke off: gates and figures are of what was measured until then, and say nothing of the rest."
)
AGREEMENT_NOTE = "Medians of the kernel's lane, paired by block; they agree within 0.1 ms or a tenth of the built-in clients' median."


HOPS_TITLE = "What the way over Redis costs"
HOP_HEADINGS = (
    *(
        "over",
        "arm",
        "users",
        "figure",
        "unit",
        "published difference",
        "difference",
        "95 % interval",
        "blocks",
    ),
)
HOP_NOTE = (
    "Differences within a block, of the trials' medians or means; Hodges and Lehmann's estimate with its exact interval. The "
    "study ran each configuration once, so that its differences have no interval: its means differ by spikes that a median "
    "does not see. CPU: the server's, and beside it Redis', which runs on the same core; together they are what the hop "
    "costs."
)


def level_cells(level: Level) -> tuple[str, ...]:
    """Return a row of `LEVEL_HEADINGS`."""
    return (
        *(title_of(level.arm), str(level.users), str(len(level.trials))),
        number(FIGURES["delay_ms_p50"].of(level)),
        *(_tail(level, "delay_ms_p95", 0.95), _tail(level, "delay_ms_p99", 0.99)),
        number(level.delays.generator.quantile_ms(0.5)),
        str(level.total(lambda each: each.lost)),
        f"{level.total(lambda each: each.errors)} of {level.total(lambda each: each.attempts)}",
        number(FIGURES["connect_ms_p95"].of(level)),
        number(level.cpu_per_delivery_us),
    )


def generator_cells(level: Level) -> tuple[str, ...]:
    """Return a row of `GENERATOR_HEADINGS`."""
    shares = [
        each.generator_cpu_share_max for each in level.trials if each.generator_cpu_share_max is not None
    ]
    lags = [each.generator_lag_ms_p99 for each in level.trials if each.generator_lag_ms_p99 is not None]
    most = max(shares, default=None)
    floors = level.floors
    return (
        *(
            title_of(level.arm),
            str(level.users),
            f"{min(each.connected for each in level.trials)} of {level.users}",
        ),
        str(level.total(lambda each: each.attempts)),
        number(None if most is None else 100 * most),
        number(max(lags, default=None)),
        number(level.delays.application.quantile_ms(0.5)),
        number(floors.median_ms if floors else None),
        _range(floors.range_ms if floors else None),
        number(floors.tail_ms if floors else None),
        f"{len(level.trials) - len(level.valid_trials)} of {len(level.trials)}",
    )


def agreement_cells(agreement: Agreement) -> tuple[str, ...]:
    """Return a row of `AGREEMENT_HEADINGS`."""
    return (
        *(TRANSPORT_TITLES[agreement.transport], str(agreement.users), str(agreement.blocks)),
        *(number(agreement.built_in_ms), number(agreement.locust_ms)),
        *(number(agreement.difference_ms), number(agreement.margin_ms)),
        "yes" if agreement.agrees else "no",
    )


def hop_cells(hop: Hop) -> tuple[str, ...]:
    """Return a row of `HOP_HEADINGS`."""
    return (
        *(hop.over, hop.arm, str(hop.users), hop.figure, hop.unit, number(hop.published)),
        *(number(hop.estimate), interval(hop.interval.low, hop.interval.high), str(hop.blocks)),
    )


def ending_sentences(result: LoadResult) -> Sequence[str]:
    """Return the warning for an incomplete run: a gate that held in a part of it has not held."""
    return () if result.complete else (BROKEN_OFF,)


def validity_sentence(result: LoadResult) -> str:
    """Return the sentence on the generator's validity, and how it was shown, as not every level has a floor."""
    if not result.levels:
        return "Nothing was measured."
    if not result.is_valid:
        return "The generator is NOT to be believed here: what follows says nothing about the server."
    proved, count = sum(each.floors is not None for each in result.levels), len(result.levels)
    if proved == count:
        return (
            "The generator proved itself against a neutral source at every level: nothing of what follows is its "
            "own doing."
        )
    if proved:
        return (
            f"The generator proved itself against a neutral source at {proved} of {count} levels; at the others only "
            "the rules for each trial speak for it."
        )
    return (
        "No neutral source stood beside these levels: only the rules for each trial speak for the generator."
    )


def capacity_sentences(result: LoadResult) -> Mapping[str, str]:
    """Return a ramp's sentence on capacity for each arm; empty for other runs."""
    return {arm: _capacity_sentence(result, arm, each) for arm, each in result.capacity.items()}


def _capacity_sentence(result: LoadResult, arm: str, capacity: Capacity) -> str:
    name, users = title_of(arm), capacity.users
    held = f"{name}: {gates_listed(result)} held"
    if capacity.is_unknown:
        return (
            f"{name}: the generator is not to be believed at any level, so nothing is known of the capacity."
        )
    if users is None:
        return f"{held} at no level."
    if capacity.gave_out_at is not None:
        return (
            f"{held} up to {users} users; beyond that the generator is not to be believed, so the capacity is at least "
            f"{users}."
        )
    if users == max(level.users for level in result.levels if level.arm == arm):
        return f"{held} up to the last level, {users} users; the limit is beyond."
    return f"{held} up to {users} users, and no longer at the next level."


def gates_listed(result: LoadResult) -> str:
    """Return all gates as they were typed."""
    return ", ".join(str(each.gate) for each in result.gates)


def _range(low_high: tuple[float, float] | None) -> str:
    return number(None) if low_high is None else f"{number(low_high[0])} to {number(low_high[1])}"


def _tail(level: Level, name: str, share: float) -> str:
    value = FIGURES[name].of(level)
    return number(value) if value is None or level.supports(share) else f"~{number(value)}"
