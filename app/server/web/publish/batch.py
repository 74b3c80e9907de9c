"""The body of a publish request: one notification, or a batch of them as a JSON array or NDJSON.

body -> entries, each decoded on its own -> publishing.order, as one batch -> one result for each entry
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import flask
import msgspec

from app.core.errors import Malformed, SiarError, TooLong
from app.i18n import refusal
from app.server.web import body
from app.server.web.publish.publishing import Publish
from app.server.wsgi import timed_body
from app.settings import Settings

NDJSON = "application/x-ndjson"
"""Media type of one JSON object per line; empty lines are skipped."""

COUNT_MAX = 1_000
BYTES_MAX = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one request.

    A batch is bounded by the burst of the publish rate, by the queue of one connection and by the history. A larger
    batch would always be refused, would make every subscriber a slow consumer, or could not be replayed.
    """

    single_bytes_max: int
    """Size of one entry, or of a single notification."""
    count_max: int
    bytes_max: int

    @staticmethod
    def of(settings: Settings) -> Limits:
        """Return the limits that follow from the settings."""
        return Limits(
            settings.publish_body_bytes_max,
            min(
                *(COUNT_MAX, settings.publish_per_s_max),
                *(settings.queue_notifications_max, settings.history_count),
            ),
            min(BYTES_MAX, settings.queue_bytes_max, settings.history_bytes),
        )


@dataclass(frozen=True, slots=True)
class Body:
    """The decoded body of a publish request."""

    entries: list[Publish | SiarError]
    """Entries in order; one that cannot be decoded is replaced by its error."""
    is_batch: bool


def read(limits: Limits) -> Body:
    """Read the current request's body; the sender must be the operator. Raises `Malformed`, and 413 beyond `limits`."""
    too_large = refusal(
        "publish_batch_too_large",
        single=limits.single_bytes_max,
        count=limits.count_max,
        bytes=limits.bytes_max,
    )
    bytes_max = max(limits.single_bytes_max, limits.bytes_max)
    timed_body.expect(flask.request.environ, bytes_max)
    raw = body.read_raw(bytes_max=bytes_max, too_large=too_large)
    parts = _parts(raw)
    if parts is None:
        return Body([_entry(raw, limits)], is_batch=False)
    if len(raw) > limits.bytes_max or len(parts) > limits.count_max:
        raise TooLong(too_large)
    if not parts:
        raise Malformed(refusal("publish_batch_empty"))
    return Body([_entry(part, limits) for part in parts], is_batch=True)


def _parts(raw: bytes) -> Sequence[bytes | msgspec.Raw] | None:
    """Split a batch into its undecoded entries; `None` for a single notification. Raises `Malformed`."""
    if flask.request.mimetype == NDJSON:
        return [line for line in raw.split(b"\n") if line.strip()]
    if not raw.lstrip().startswith(b"["):
        return None
    return body.decoded(raw, list[msgspec.Raw])


def _entry(part: bytes | msgspec.Raw, limits: Limits) -> Publish | SiarError:
    if len(part) > limits.single_bytes_max:
        return TooLong(refusal("body_too_large", count=limits.single_bytes_max))
    try:
        return body.decoded(part, Publish)
    except Malformed as error:
        return error
