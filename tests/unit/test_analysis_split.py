"""The parts of a delay, against records in which every part is given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.core.instrument import ConnectionRecord, InstrumentRecord, TcpInfo
from app.core.trial import RunRecord, Severity, TrialRecord
from app.core.units import ServerUs
from app.lab.analysis.analyse import analyse
from app.lab.analysis.columns import columns_of
from app.lab.analysis.metrics.split import split
from app.lab.analysis.metrics.writes import NOT_WRITTEN, has_writes, places_of, server_writes
from app.lab.analysis.validity.checks import check_trial
from app.lab.analysis.validity.trial_warnings import texts
from tests.support import records

DUE_US = ServerUs(1_000_000)
"""As in `records.delivery`: sent 200 us later, by the kernel at 1400.125, read at 1500.25."""


def tcp(*, bytes_sent: int | None, segments: int | None, retransmissions: int = 0) -> TcpInfo:
    return TcpInfo(
        at_us=DUE_US,
        rtt_us=300,
        rttvar_us=50,
        min_rtt_us=100,
        retransmissions=retransmissions,
        segments_out=segments,
        segments_in=segments,
        data_segments_out=segments,
        bytes_sent=bytes_sent,
        bytes_acked=bytes_sent,
        bytes_received=None if bytes_sent is None else 0,
        delivered=segments,
        header_bytes=52,
    )


def connection(client: int | None, accepted: dict[int, int], **changes: object) -> ConnectionRecord:
    return ConnectionRecord(
        client,
        "127.0.0.1",
        4000,
        tuple(accepted.items()),
        **changes,  # type: ignore[arg-type]
    )


def trial(*connections: ConnectionRecord, clients: int = 1, dropped: int = 0) -> TrialRecord:
    record = records.trial()
    return replace(
        record,
        spec=replace(record.spec, clients=clients),
        deliveries=tuple(records.delivery(client=client) for client in range(clients)),
        instrument=InstrumentRecord(None, dropped, tuple(connections)),
    )


def test_the_parts_are_those_between_the_stamps_and_add_up() -> None:
    found = split(trial(connection(0, {1: DUE_US + 900})))

    assert found is not None
    parts = (found.source_ms, found.server_ms, found.network_ms, found.client_ms)
    assert [each.p50 for each in parts] == pytest.approx([0.2, 0.7, 0.500125, 0.100125])
    assert sum(each.mean or 0.0 for each in parts) == pytest.approx(records.delivery().delay_ms)
    assert (found.deliveries, found.unmatched, found.spread_ms_p50) == (1, 0, None)


def test_without_a_kernel_s_stamp_the_server_s_part_is_known_and_the_others_are_not() -> None:
    record = trial(connection(0, {1: DUE_US + 900}))
    record = replace(record, deliveries=(records.delivery(kernel_received_us=None),))

    found = split(record)

    assert found is not None
    assert found.server_ms.p50 == pytest.approx(0.7)
    assert found.network_ms.p50 is found.client_ms.p50 is None
    assert found.deliveries == 0


def test_the_spread_is_from_the_first_client_to_the_last() -> None:
    found = split(
        trial(
            connection(0, {1: DUE_US + 900}),
            connection(1, {1: DUE_US + 300}),
            connection(2, {1: DUE_US + 1100}),
            clients=3,
        )
    )

    assert found is not None
    assert found.spread_ms_p50 == pytest.approx(0.8)


def test_the_place_is_the_order_of_writing_within_a_notification() -> None:
    seq, accepted_us = np.array([1, 1, 1, 2, 2]), np.array([30, 10, 20, 40, 50])

    assert places_of(seq, accepted_us).tolist() == [2, 0, 1, 0, 1]


@pytest.mark.parametrize(
    "recorded", [connection(0, {}), connection(None, {1: DUE_US + 900})], ids=["nothing", "a stranger's"]
)
def test_a_write_is_known_only_where_a_client_of_the_trial_was_written_to(recorded: ConnectionRecord) -> None:
    record = trial(recorded)

    found = server_writes(record, columns_of(record.deliveries))

    assert not has_writes(record)
    assert found.is_known.tolist() == [False]


def test_a_delivery_without_a_write_has_none_though_there_is_a_single_one_beside_it() -> None:
    record = trial(connection(0, {1: DUE_US + 900}), clients=2)

    found = server_writes(record, columns_of(record.deliveries))

    assert found.accepted_us.tolist() == [DUE_US + 900, NOT_WRITTEN]
    assert found.place.tolist() == [0, NOT_WRITTEN]


def test_wire_figures_are_growth_per_connection_and_notification() -> None:
    """Four notifications were published; a stranger's connection does not count."""
    ends = {
        "before": tcp(bytes_sent=1000, segments=10),
        "after": tcp(bytes_sent=3000, segments=18, retransmissions=2),
    }
    stranger = connection(
        None, {}, before=ends["before"], after=tcp(bytes_sent=9000, segments=99, retransmissions=9)
    )

    found = split(trial(connection(0, {1: DUE_US + 900}, **ends), stranger))

    assert found is not None
    assert found.wire.payload_per_notification == 500
    assert (found.wire.segments_per_notification, found.wire.segments_in_per_notification) == (2, 2)
    assert found.wire.bytes_per_notification == 500 + 4 * 52
    assert (found.wire.retransmissions, found.wire.rtt_ms_p50) == (2, 0.3)


def test_what_an_older_kernel_does_not_count_is_unknown_and_not_zero() -> None:
    ends = {"before": tcp(bytes_sent=None, segments=None), "after": tcp(bytes_sent=None, segments=None)}

    found = split(trial(connection(0, {1: DUE_US + 900}, **ends)))

    assert found is not None
    assert found.wire.bytes_per_notification is found.wire.segments_per_notification is None


@pytest.mark.parametrize(
    ("instrument", "text"),
    [
        (InstrumentRecord("It is not known."), "It is not known."),
        (InstrumentRecord(None, 0, ()), "1 sample without"),
        (InstrumentRecord(None, 3, (connection(0, {1: DUE_US + 900}),)), "3 writes found no room"),
    ],
    ids=["absent", "unmatched", "dropped"],
)
def test_what_was_not_recorded_is_said_and_voids_nothing(instrument: InstrumentRecord, text: str) -> None:
    record = replace(trial(), instrument=instrument)

    found = [each for each in check_trial(record, records.plan()) if each.code == "not_recorded"]

    assert [each.severity for each in found] == [Severity.NOTE]
    assert text in texts(found[0])["text"]


def test_a_trial_that_was_not_to_be_recorded_has_no_split_and_no_warning() -> None:
    record = replace(trial(), instrument=None)

    assert split(record) is None
    assert all(each.code != "not_recorded" for each in check_trial(record, records.plan()))


def test_the_analysis_has_the_split_of_trials_that_count_and_none_without() -> None:
    plan = replace(records.plan(), arms=records.plan().arms[:1], client_counts=(1,), notifications=1)
    recorded = replace(
        trial(connection(0, {1: DUE_US + 900})), disconnects=0, warnings=(), published=2, source_lag_us=(200,)
    )
    recorded = replace(recorded, cpu=None)

    def row_of(record: TrialRecord) -> object:
        run = RunRecord("r", "2026-11-21T10:40:07Z", True, plan, {}, (record,))
        return analyse(run).summary[0].split

    assert getattr(row_of(recorded), "server_ms_p50", None) == pytest.approx(0.7)
    assert row_of(replace(recorded, instrument=None)) is None
