"""When each notification of a trial is due, and how its body is padded to the plan's length."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.errors import Malformed
from app.core.notification import encode_json, utf8_bytes

_FILLER = "Siar measures itself. "
"""Plain ASCII without quotes or backslashes: one character is one byte in JSON."""


def due_us(start_us: int, rate_hz: float, i: int) -> int:
    """When the notification number `i` is due: `start + i T`, rounded once, so that no error adds up.

    A fixed schedule, never `sleep(T)`: a source that stalls must not hide its stall (measurement.md section 2).
    """
    return start_us + round(i * 1_000_000 / rate_hz)


def padded_body(wire: Mapping[str, object], *, payload_bytes: int) -> str:
    """The body with which the encoded JSON object of `wire` is exactly `payload_bytes` long.

    `wire` is the notification's object as it will be sent, `id`, `offset` and stamps included; what it has as
    `body` does not count. Raises `Malformed` when the rest alone is longer.
    """
    missing = payload_bytes - utf8_bytes(encode_json({**wire, "body": ""}))
    if missing < 0:
        raise Malformed(
            f"A payload of {payload_bytes} bytes cannot hold this notification: "
            f"without a body it has {payload_bytes - missing} bytes."
        )
    return (_FILLER * (missing // len(_FILLER) + 1))[:missing]
