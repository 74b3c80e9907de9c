"""Due times of a trial's notifications, and padding of their bodies to the plan's payload length."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.errors import Malformed
from app.core.notification import encode_json, utf8_bytes

_FILLER = "Siar measures itself. "
"""Padding text: ASCII without quotes or backslashes, so that one character is one byte in JSON."""


def due_us(start_us: int, rate_hz: float, i: int) -> int:
    """Return the due time of notification number `i`: `start + i T`, rounded once, so that errors do not accumulate.

    The schedule is fixed, never `sleep(T)`, so that a stalled source cannot hide its stall (measurement.md section 2).
    """
    return start_us + round(i * 1_000_000 / rate_hz)


def padded_body(wire: Mapping[str, object], *, payload_bytes: int) -> str:
    """Return the body that makes the encoded JSON object of `wire` exactly `payload_bytes` long.

    `wire` is the notification's object as it will be sent, `id`, `offset` and stamps included; its own `body` is
    ignored. Raises `Malformed` if the rest alone is longer.
    """
    missing = payload_bytes - utf8_bytes(encode_json({**wire, "body": ""}))
    if missing < 0:
        raise Malformed(
            f"A payload of {payload_bytes} bytes cannot hold this notification: "
            f"without a body it has {payload_bytes - missing} bytes."
        )
    return (_FILLER * (missing // len(_FILLER) + 1))[:missing]
