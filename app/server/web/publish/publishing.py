"""Publish one notification or a batch: validation, rate limit, protection of trials, and the response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from app import clock
from app.core.errors import Conflict, Malformed, SiarError, TooLong
from app.core.idempotency_header import CHARS_MAX, parse_key
from app.core.notification import EVERYONE, Targets, encode_json, utf8_bytes
from app.core.units import ServerUs
from app.core.wire import (
    BODY_CHARS_MAX,
    CONTENT_BYTES_MAX,
    DATA_BYTES_MAX,
    DEFAULT_TOPIC,
    TITLE_CHARS_MAX,
    TOPIC_PATTERN,
    Transport,
)
from app.i18n import refusal
from app.server.broker.base import Broker, Draft, Published
from app.server.services import Services

PATH = "/api/notifications"

KEY_HEADER = "HTTP_IDEMPOTENCY_KEY"
"""Key in `environ` of the header that may replace the member `idempotency_key`."""

TTL_S_MAX = 30 * 24 * 3600
"""A month, which is longer than history is kept."""

DEVICES_MAX = 1000


ESCAPED_BYTES_MAX = 6
"""Maximum length of one character as JSON."""


class TooFast(SiarError):
    """The rate limit SIAR_PUBLISH_PER_S_MAX is exceeded."""

    def __init__(self, wait_us: int) -> None:
        super().__init__(refusal("publish_too_fast"))
        self.wait_s = -(-wait_us // 1_000_000)


class WouldDisturb(SiarError):
    """A trial is running, and the body does not permit to void it."""

    def __init__(self, ends_us: int) -> None:
        super().__init__(refusal("publish_would_disturb"))
        self.ends_us = ends_us


class PublishTargets(msgspec.Struct, forbid_unknown_fields=True):
    """The recipients of a notification."""

    transport: Transport | None = None
    devices: (
        Annotated[list[Annotated[str, msgspec.Meta(max_length=64)]], msgspec.Meta(max_length=DEVICES_MAX)]
        | None
    ) = None


class Publish(msgspec.Struct, forbid_unknown_fields=True):
    """One notification in the body of a publish request."""

    title: Annotated[str, msgspec.Meta(min_length=1, max_length=TITLE_CHARS_MAX)]
    body: Annotated[str, msgspec.Meta(max_length=BODY_CHARS_MAX)]
    topic: Annotated[str, msgspec.Meta(pattern=rf"\A{TOPIC_PATTERN.pattern}\Z")] = DEFAULT_TOPIC
    data: dict[str, Any] = {}
    ttl_s: Annotated[float, msgspec.Meta(gt=0, le=TTL_S_MAX)] | None = None
    idempotency_key: Annotated[str, msgspec.Meta(min_length=1, max_length=CHARS_MAX)] | None = None
    due_us: int | None = None
    targets: PublishTargets | None = None
    force: bool = False


Outcome = Published | SiarError
"""Outcome of one notification: its place in the order, or why it was not published."""


def order(parts: Services, wanted: Sequence[Publish | SiarError]) -> list[Outcome]:
    """Publish `wanted` as one batch in this order; return the outcome of each. An error in it is passed through.

    Raises `TooFast`, `WouldDisturb` and the errors of `Broker.publish_all` for the whole batch, of which then nothing
    is published.
    """
    count = sum(isinstance(each, Publish) for each in wanted)
    wait_us = parts.publish_rate.wait_us(parts.clock.monotonic_us(), count) if count else 0
    if wait_us:
        raise TooFast(wait_us)
    outcomes: list[Outcome | Draft] = [
        _checked(each, age_max_s=parts.settings.publish_age_max_s) if isinstance(each, Publish) else each
        for each in wanted
    ]
    drafts = {index: each for index, each in enumerate(outcomes) if isinstance(each, Draft)}
    _void_active_trial(parts, [(wanted[index], draft) for index, draft in drafts.items()])
    published = iter(parts.broker.publish_all(list(drafts.values())))
    return [next(published) if isinstance(each, Draft) else each for each in outcomes]


def answer_of(published: Published) -> tuple[int, dict[str, object]]:
    """Return status and members of the response to a publish: 201, or 200 for a repeated key."""
    notification = published.notification
    members: dict[str, object] = {
        "id": notification.id,
        "offset": notification.offset,
        "sent_us": notification.sent_us,
        "recipients": published.recipients,
    }
    return 200 if published.repeated else 201, members


def _void_active_trial(parts: Services, wanted: Sequence[tuple[Publish | SiarError, Draft]]) -> None:
    """Void the running trial, if there is one. Raises `WouldDisturb` unless every new notification has `force`."""
    trial = parts.trials.active()
    if trial is None:
        return
    new = [each for each, draft in wanted if not _was_used(parts.broker, draft)]
    if not new:
        return
    if not all(isinstance(each, Publish) and each.force for each in new):
        raise WouldDisturb(trial.ends_us)
    # Void it before publishing: with a remote broker the trial could end and count as valid before the broker replies,
    # and a broker that became unreachable may have published. One block too many may be repeated, but none is false.
    parts.trials.void(trial)


def _was_used(broker: Broker, draft: Draft) -> bool:
    """Return True if the draft's key was used before, for this or other content: then it publishes nothing now."""
    try:
        return draft.idempotency_key is not None and broker.earlier(draft) is not None
    except Conflict:
        return True


def _checked(wanted: Publish, *, age_max_s: float) -> Draft | SiarError:
    try:
        return _draft(wanted, age_max_s=age_max_s)
    except SiarError as error:
        return error


def _draft(wanted: Publish, *, age_max_s: float) -> Draft:
    _check_length(wanted)
    targets = EVERYONE
    if wanted.targets is not None:
        devices = wanted.targets.devices
        targets = Targets(wanted.targets.transport, None if devices is None else frozenset(devices))
    return Draft(
        title=wanted.title,
        body=wanted.body,
        topic=wanted.topic,
        due_us=_due_us(wanted.due_us, age_max_s=age_max_s),
        data=wanted.data,
        targets=targets,
        ttl_us=None if wanted.ttl_s is None else round(wanted.ttl_s * 1_000_000),
        idempotency_key=wanted.idempotency_key,
    )


def take_key(wanted: Publish, header: str) -> None:
    """Take the idempotency key from the header; the body may repeat it. Raises `Malformed`."""
    key = parse_key(header)
    if key is None:
        raise Malformed(refusal("idempotency_header_malformed", count=CHARS_MAX))
    if wanted.idempotency_key not in (None, key):
        raise Malformed(refusal("idempotency_keys_differ"))
    wanted.idempotency_key = key


def _check_length(wanted: Publish) -> None:
    data_bytes = utf8_bytes(encode_json(wanted.data)) if wanted.data else len("{}")
    if data_bytes > DATA_BYTES_MAX:
        raise Malformed(refusal("data_too_large", count=DATA_BYTES_MAX))
    # Encode only what could exceed the limit: hardly any notification is that long.
    if data_bytes + ESCAPED_BYTES_MAX * (len(wanted.title) + len(wanted.body)) <= CONTENT_BYTES_MAX:
        return
    length = data_bytes + sum(utf8_bytes(encode_json(text)) for text in (wanted.title, wanted.body))
    if length > CONTENT_BYTES_MAX:
        raise TooLong(
            refusal("notification_too_long", length=length, bytes=CONTENT_BYTES_MAX, chars=BODY_CHARS_MAX)
        )


def _due_us(wanted_us: int | None, *, age_max_s: float) -> ServerUs:
    """Return the due time. Raises `Malformed` if it lies in the future or is older than the setting allows."""
    now_us = clock.now_us()
    if wanted_us is None:
        return now_us
    if not now_us - age_max_s * 1_000_000 <= wanted_us <= now_us:
        raise Malformed(refusal("due_out_of_range", seconds=age_max_s))
    return ServerUs(wanted_us)
