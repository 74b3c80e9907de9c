"""What an Engine.IO client may send, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass

CONNECT_TIMEOUT_S = 45.0
"""How long a client may take to join a namespace; the reference server's `connectTimeout`."""

UPGRADE_TIMEOUT_S = 10.0
"""How long an upgrade may take; the reference server's `upgradeTimeout`."""

LINGER_S = 30.0
"""How long the last packets of an ended session wait for their polls; the reference server's `closeTimeout`."""

POLL_BYTES_MAX = 65_536
"""Of one poll's answer, but for its last packet; the rest waits for the next poll. An answer is made for one client: all of
history in one, for each of many who read slowly, would be many copies of it."""


@dataclass(frozen=True, slots=True)
class IncomingLimits:
    """What a client may send."""

    packet_bytes_max: int = 65_536
    """Of one packet, attachments included, and of one POST: clients only say hello."""
    packets_per_s: int = 200
    """Clients say hello, answer pings, and perhaps acknowledge."""
    packets_burst_max: int = 2_000
    """Packets that may come at once: a client that was offline sends what its page emitted meanwhile."""
    payload_packets_max: int = 2_000
    """Packets of one POST. The library takes 16, where the official client sends all that it has, bounded in bytes."""
    unread_answers_max: int = 4_000
    """Of a client's messages that were answered, those whose answers it has not taken yet. Beyond it the session ends: who
    only ever sends would have answers pile up for ever. Twice a burst, whose answers are taken by one poll."""
    last_poll_s: float = 0.1
    """How long a poll during an upgrade is kept."""
    overtaking_s: float = 0.02
    """By how much a request may overtake another one that was sent before it on another connection."""

    @property
    def packet_pause_us(self) -> int:
        """Between two packets at the allowed rate."""
        return 1_000_000 // self.packets_per_s
