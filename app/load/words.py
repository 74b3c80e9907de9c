"""Tables and sentences of a load run, the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Sequence

from app.analysis.words import TRANSPORT_TITLES, interval, number
from app.load.agreement import Agreement
from app.load.levels import FIGURES, Level
from app.load.result import Kind, LoadResult
from app.load.vps_hops import Hop

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
AGREEMENT_NOTE = "Medians of the kernel's lane, paired by block; they agree within 0.1 ms or a tenth of the built-in clients' median."


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
    "does not see."
)


def level_cells(level: Level) -> tuple[str, ...]:
    """A row of `LEVEL_HEADINGS`."""
    return (
        *(_arm(level), str(level.users), str(len(level.trials))),
        number(FIGURES["delay_ms_p50"].of(level)),
        *(_tail(level, "delay_ms_p95", 0.95), _tail(level, "delay_ms_p99", 0.99)),
        number(level.lanes.own.quantile_ms(0.5)),
        str(level.total(lambda each: each.lost)),
        f"{level.total(lambda each: each.errors)} of {level.total(lambda each: each.attempts)}",
        number(FIGURES["connect_ms_p95"].of(level)),
        number(level.cpu_per_delivery_us),
    )


def generator_cells(level: Level) -> tuple[str, ...]:
    """A row of `GENERATOR_HEADINGS`."""
    shares = [
        each.generator_cpu_share_max for each in level.trials if each.generator_cpu_share_max is not None
    ]
    lags = [each.generator_lag_ms_p99 for each in level.trials if each.generator_lag_ms_p99 is not None]
    most = max(shares, default=None)
    floors = level.floors
    return (
        *(_arm(level), str(level.users), f"{min(each.connected for each in level.trials)} of {level.users}"),
        str(level.total(lambda each: each.attempts)),
        number(None if most is None else 100 * most),
        number(max(lags, default=None)),
        number(level.lanes.handler.quantile_ms(0.5)),
        number(floors.median_ms if floors else None),
        _range(floors.range_ms if floors else None),
        number(floors.tail_ms if floors else None),
        f"{len(level.trials) - len(level.believed)} of {len(level.trials)}",
    )


def agreement_cells(agreement: Agreement) -> tuple[str, ...]:
    """A row of `AGREEMENT_HEADINGS`."""
    return (
        *(TRANSPORT_TITLES[agreement.transport], str(agreement.users), str(agreement.blocks)),
        *(number(agreement.built_in_ms), number(agreement.locust_ms)),
        *(number(agreement.difference_ms), number(agreement.margin_ms)),
        "yes" if agreement.agrees else "no",
    )


def hop_cells(hop: Hop) -> tuple[str, ...]:
    """A row of `HOP_HEADINGS`."""
    return (
        *(hop.over, hop.arm, str(hop.users), hop.figure, hop.unit, number(hop.published)),
        *(number(hop.estimate), interval(hop.interval.low, hop.interval.high), str(hop.blocks)),
    )


def validity_sentence(result: LoadResult) -> str:
    """Whether the generator is to be believed."""
    if not result.levels:
        return "Nothing was measured."
    if result.is_valid:
        return "The generator proved itself: nothing of what follows is its own doing."
    return "The generator is NOT to be believed here: what follows says nothing about the server."


def capacity_sentences(result: LoadResult) -> Sequence[str]:
    """Of a ramp: how many users each transport bore."""
    if result.kind is not Kind.RAMP:
        return ()
    gates = ", ".join(str(each.gate) for each in result.gates)
    sentences = []
    for arm, users in result.capacity.items():
        name = TRANSPORT_TITLES.get(arm, arm)
        most = max(level.users for level in result.levels if level.arm == arm)
        if users is None:
            sentences.append(f"{name}: {gates} held at no level.")
        elif users == most:
            sentences.append(
                f"{name}: {gates} held up to the last level, {users} users; the limit is beyond."
            )
        else:
            sentences.append(f"{name}: {gates} held up to {users} users, and no longer at the next level.")
    return sentences


def _range(low_high: tuple[float, float] | None) -> str:
    return number(None) if low_high is None else f"{number(low_high[0])} to {number(low_high[1])}"


def _arm(level: Level) -> str:
    return TRANSPORT_TITLES.get(level.arm, level.arm)


def _tail(level: Level, name: str, share: float) -> str:
    value = FIGURES[name].of(level)
    return number(value) if value is None or level.supports(share) else f"~{number(value)}"
