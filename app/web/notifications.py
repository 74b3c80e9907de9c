"""`/api/notifications`: publish, and the history of what was published."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import flask
import msgspec

from app import clock
from app.broker.base import Draft
from app.core.errors import Malformed
from app.core.notification import EVERYONE, Targets, encode_json
from app.core.position import parse_position
from app.core.wire import (
    BODY_CHARS_MAX,
    DATA_BYTES_MAX,
    DEFAULT_TOPIC,
    OFFSET_MAX,
    TITLE_CHARS_MAX,
    TOPIC_PATTERN,
)
from app.web import body
from app.web.auth import require_operator
from app.web.errors import problem
from app.web.here import services

blueprint = flask.Blueprint("notifications", __name__)

HISTORY_LIMIT_MAX = 1000

TTL_S_MAX = 30 * 24 * 3600
"""A month; history is shorter than that anyway."""

DEVICES_MAX = 1000


class PublishTargets(msgspec.Struct, forbid_unknown_fields=True):
    """Whom a notification is for."""

    transport: Literal["sse", "socketio"] | None = None
    devices: (
        Annotated[list[Annotated[str, msgspec.Meta(max_length=64)]], msgspec.Meta(max_length=DEVICES_MAX)]
        | None
    ) = None


class Publish(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a publish."""

    title: Annotated[str, msgspec.Meta(min_length=1, max_length=TITLE_CHARS_MAX)]
    body: Annotated[str, msgspec.Meta(max_length=BODY_CHARS_MAX)]
    topic: Annotated[str, msgspec.Meta(pattern=rf"\A{TOPIC_PATTERN.pattern}\Z")] = DEFAULT_TOPIC
    data: dict[str, Any] = {}
    ttl_s: Annotated[float, msgspec.Meta(gt=0, le=TTL_S_MAX)] | None = None
    idempotency_key: Annotated[str, msgspec.Meta(min_length=1, max_length=128)] | None = None
    due_us: int | None = None
    targets: PublishTargets | None = None
    force: bool = False


@blueprint.post("/api/notifications")
def publish() -> flask.Response:
    """Order a notification, keep it, hand it to every matching connection: 201, or 200 for a repeated key."""
    require_operator()
    parts = services()
    wait_us = parts.publish_rate.wait_us(clock.monotonic_us())
    if wait_us:
        refusal = problem(429, "Notifications come faster than SIAR_PUBLISH_PER_S_MAX allows; try again.")
        refusal.headers["Retry-After"] = str(-(-wait_us // 1_000_000))
        return refusal
    wanted = body.read(Publish, bytes_max=parts.settings.publish_body_bytes_max)
    draft = _draft(wanted)
    broker = parts.broker
    earlier = None if draft.idempotency_key is None else broker.earlier(draft)
    trial = parts.trials.active()
    if trial is not None and earlier is None:
        if not wanted.force:
            return problem(
                409,
                "An experiment is measuring: a notification now would disturb it. "
                "Wait until it ends (ends_us), or send force: true, which voids the trial.",
                ends_us=trial.ends_us,
            )
        parts.trials.void(trial)
    published = earlier or broker.publish(draft)
    notification = published.notification
    if not published.repeated:
        parts.receipts.published(notification, published.recipients)
    return body.answer(
        200 if published.repeated else 201,
        id=notification.id,
        offset=notification.offset,
        sent_us=notification.sent_us,
        recipients=published.recipients,
    )


@blueprint.get("/api/notifications")
def history() -> flask.Response:
    """The operator's notifications to everyone after an offset or position, oldest first."""
    limit = _limit(flask.request.args.get("limit", "100"))
    broker = services().broker
    position = broker.position()
    after = _after(flask.request.args.get("after", "0"), epoch=position.epoch)
    found = broker.history(after, limit)
    # The wire bytes as they are: history, stream and channel show the same object.
    listed = ",".join(notification.json for notification in found)
    text = f'{{"position":{encode_json(str(position))},"notifications":[{listed}]}}'
    return flask.Response(text, content_type="application/json", headers={"Cache-Control": "no-store"})


def _draft(wanted: Publish) -> Draft:
    if wanted.data and len(encode_json(wanted.data)) > DATA_BYTES_MAX:
        raise Malformed(f"`data` may have at most {DATA_BYTES_MAX} bytes when encoded.")
    targets = EVERYONE
    if wanted.targets is not None:
        devices = wanted.targets.devices
        targets = Targets(wanted.targets.transport, None if devices is None else frozenset(devices))
    return Draft(
        title=wanted.title,
        body=wanted.body,
        topic=wanted.topic,
        due_us=_due_us(wanted.due_us),
        data=wanted.data,
        targets=targets,
        ttl_us=None if wanted.ttl_s is None else round(wanted.ttl_s * 1_000_000),
        idempotency_key=wanted.idempotency_key,
    )


def _due_us(wanted_us: int | None) -> int:
    """The publisher's due time: not in the future, and not older than the setting allows."""
    now_us = clock.now_us()
    if wanted_us is None:
        return now_us
    age_max_s = services().settings.publish_age_max_s
    if not now_us - age_max_s * 1_000_000 <= wanted_us <= now_us:
        raise Malformed(
            f"due_us must be in the server's time base, not in the future and at most {age_max_s:g} s old; "
            f"GET /api/clock tells that time."
        )
    return wanted_us


def _after(text: str, *, epoch: str) -> int:
    if "." in text:
        position = parse_position(text)
        return position.offset if position.epoch == epoch else 0  # of another life: everything is new to it
    if text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= OFFSET_MAX:
        return int(text)
    raise Malformed("`after` is an offset (a whole number, 0 for all) or a position.")


def _limit(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= HISTORY_LIMIT_MAX:
        return int(text)
    raise Malformed(f"`limit` is a whole number from 1 to {HISTORY_LIMIT_MAX}.")
