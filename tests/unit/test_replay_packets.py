"""The packets of what was missed: the same for everyone, and bounded."""

from __future__ import annotations

import json

from app.core.notification import Notification
from app.core.position import Position
from app.core.units import ServerUs
from app.server.transports.socket_io.packets import ReplayPackets


def notification(offset: int, *, body: str = "") -> Notification:
    return Notification(Position("e", offset), "default", ServerUs(1), ServerUs(2), "title", body)


def test_clients_that_missed_the_same_get_the_same_packet() -> None:
    packets = ReplayPackets()
    missed = notification(1)

    assert packets.get(missed, recovers=False) is packets.get(missed, recovers=False)
    assert packets.get(missed, recovers=True) is not packets.get(missed, recovers=False)


def test_a_packet_has_the_notification_and_its_id_for_clients_that_recover() -> None:
    packets = ReplayPackets()
    missed = notification(7, body="ünï")

    plain, recovering = (packets.get(missed, recovers=each).encode() for each in (False, True))

    assert plain == f'42["notification",{missed.json}]'
    assert json.loads(recovering[2:]) == ["notification", json.loads(missed.json), "e.7"]
    assert json.loads(missed.json)["body"] == "ünï"


def test_what_is_kept_is_bounded_in_bytes_however_many_came_and_went() -> None:
    """History drops notifications by its own bounds, and says so to nobody."""
    packets = ReplayPackets(bytes_max=1_000_000)

    for offset in range(1, 200):
        packets.get(notification(offset, body="x" * 20_000), recovers=False)

    assert packets.bytes <= 1_000_000
    assert 20 < len(packets) < 30


def test_the_packet_that_was_asked_for_longest_ago_goes_first() -> None:
    packets = ReplayPackets(bytes_max=100_000)
    first, second, third = (notification(offset, body="x" * 20_000) for offset in (1, 2, 3))
    kept, gone = packets.get(first, recovers=False), packets.get(second, recovers=False)

    packets.get(first, recovers=False)
    packets.get(third, recovers=False)

    assert packets.get(first, recovers=False) is kept
    assert packets.get(second, recovers=False) is not gone
