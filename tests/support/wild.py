"""Trials with everything that can happen to a delivery, for comparing two computations of the same figures."""

from __future__ import annotations

import random
from dataclasses import replace

from app.core.delivery import Delivery, Lifecycle, Outcome, SampleState
from app.core.instrument import ConnectionRecord, InstrumentRecord, TcpInfo
from app.core.lifecycle import LifecycleReport
from app.core.plan.scenario import Plan
from app.core.trial import TrialRecord
from app.core.units import ServerUs
from tests.unit.support_run import EPOCH_US, RunMaker, a_plan


def wild_plan(*, clients: int = 5, notifications: int = 40) -> Plan:
    """Return a plan with one block of two arms."""
    return a_plan(client_counts=(clients,), blocks=1, notifications=notifications)


def wild_trials(seed: int, plan: Plan) -> list[TrialRecord]:
    """Return every trial of the plan, with losses, duplicates, replays, bad clocks, drift, and unordered rows."""
    rng = random.Random(seed)
    made = RunMaker(plan=plan, seed=seed).run()
    return [_wild(record, rng) for record in made.trials if not record.spec.idle]


def _wild(record: TrialRecord, rng: random.Random) -> TrialRecord:
    rows = [row for each in record.deliveries for row in _happened(each, rng)]
    if rng.random() < 0.5:
        rng.shuffle(rows)
    clients = range(record.spec.clients)
    return replace(
        record,
        deliveries=tuple(rows),
        participants=tuple(clients),
        lifecycle_reports=tuple(
            LifecycleReport(client, received_count=rng.choice([10, 42])) for client in clients
        ),
        instrument=_recorded(record, rng),
    )


def _happened(row: Delivery, rng: random.Random) -> list[Delivery]:
    """Return the row or rows that may result from a delivery: two if it arrived twice."""
    assert row.received_client_us is not None
    assert row.clock_offset_us is not None
    came_us, theta_us = row.received_client_us, row.clock_offset_us + rng.choice([0.0, 0.25, 13.0])
    nothing = dict.fromkeys(("received_client_us", "clock_offset_us", "clock_bound_us", "kernel_received_us"))
    hidden = {"state": SampleState.HIDDEN, "visible": False, "lifecycle": Lifecycle.HIDDEN}
    changes = rng.choices(
        (
            {},
            {"received_client_us": came_us + rng.expovariate(1 / 900)},
            {"received_client_us": float(round(came_us))},
            {"received_client_us": came_us + 700e3},
            {"outcome": Outcome.LATE, "received_client_us": came_us + 6e6},
            {"outcome": Outcome.REPLAYED, "state": SampleState.REPLAY},
            {"outcome": Outcome.LOST, **nothing},
            {"clock_offset_us": None},
            {"clock_bound_us": None},
            {"sent_us": None, "offset": None},
            {"clock_offset_us": theta_us + 5e6, "received_client_us": came_us - 5e6},  # A different clock.
            {"received_client_us": came_us - 900e3},  # Received before it was sent.
            hidden,
        ),
        weights=(40, 30, 4, 3, 2, 2, 2, 2, 2, 2, 2, 1, 2),
    )[0]
    kernel_us = row.due_us + rng.random() * 900 if rng.random() < 0.7 else None
    first = replace(
        row,
        **{"clock_offset_us": theta_us, "kernel_received_us": kernel_us, **changes},  # type: ignore[arg-type]
    )
    again = first.received_client_us is not None and rng.random() < 0.03
    return [first, replace(first, outcome=Outcome.DUPLICATE)] if again else [first]


def _recorded(record: TrialRecord, rng: random.Random) -> InstrumentRecord | None:
    """Return the server's record: incomplete, with an unknown client, and with one client on two connections."""
    seqs = sorted({each.seq for each in record.deliveries})
    owners = [*range(record.spec.clients), None, 0]
    connections = tuple(
        ConnectionRecord(
            client,
            "127.0.0.1",
            4000 + number,
            tuple(
                (seq, EPOCH_US + seq * 50_000 + rng.randrange(100, 130))  # Many in the same microsecond.
                for seq in seqs
                if rng.random() < 0.9
            ),
            _tcp(number),
            _tcp(number + 5),
        )
        for number, client in enumerate(owners)
    )
    return rng.choice(
        [
            InstrumentRecord(None, 0, connections),
            InstrumentRecord(None, 0, connections),
            InstrumentRecord("It was not asked."),
            None,
        ]
    )


def _tcp(number: int) -> TcpInfo:
    return TcpInfo(
        ServerUs(number),
        300 + number,
        50,
        100,
        number % 2,
        9 * number,
        8 * number,
        7 * number,
        900 * number,
        800 * number,
        70 * number,
        7 * number,
        52,
    )
