"""Limits of an Engine.IO client: rates, sizes and timeouts."""

from __future__ import annotations

from dataclasses import dataclass

CONNECT_TIMEOUT_S = 45.0
"""Time within which a client must join a namespace; the reference server's `connectTimeout`."""

UPGRADE_TIMEOUT_S = 10.0
"""Maximum duration of an upgrade; the reference server's `upgradeTimeout`."""

LINGER_S = 30.0
"""Time for which the last packets of an ended session wait for a poll; the reference server's `closeTimeout`."""

POLL_BYTES_MAX = 65_536
"""Upper bound of a poll's response, exceeded by its last packet at most; the rest waits for the next poll. A response is
built per client, so if many slow clients each got all of history at once, that would be many copies of it."""


@dataclass(frozen=True, slots=True)
class IncomingLimits:
    """Limits of what a client may send."""

    packet_bytes_max: int = 65_536
    """Size of one packet, attachments included, and of one POST. Clients need to send little."""
    packets_per_s: int = 200
    """Sustained rate. Clients join, answer pings and perhaps send acknowledgements."""
    packets_burst_max: int = 2_000
    """Packets that may come at once: a client that was offline sends what its page emitted meanwhile."""
    payload_packets_max: int = 2_000
    """Packets of one POST. The library takes 16, but the official client sends its whole buffer, bounded in bytes only."""
    unread_answers_max: int = 4_000
    """Answered messages of a client whose answers it has not read yet; beyond it the session ends, since otherwise the answers
    to a client that only sends would pile up. Twice a burst, whose answers are taken by one poll."""
    last_poll_s: float = 0.1
    """Time for which a poll during an upgrade is held."""
    overtaking_s: float = 0.02
    """Time by which a request may overtake an earlier one on another connection."""

    @property
    def packet_pause_us(self) -> int:
        """Return the interval between two packets at the sustained rate."""
        return 1_000_000 // self.packets_per_s
