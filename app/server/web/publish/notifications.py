"""`/api/notifications`: publish, and the history of what was published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import flask

from app import clock
from app.core.errors import Malformed
from app.core.notification import Notification, encode_json
from app.core.position import Position, parse_position
from app.core.wire import OFFSET_MAX
from app.i18n import refusal
from app.server.broker.base import Published
from app.server.broker.history_cache import ANSWER_BYTES_MAX, AWAY, HIT, MISS, HistoryCache
from app.server.web import body, errors
from app.server.web.auth import require_operator
from app.server.web.current import services
from app.server.web.publish import batch, publishing

blueprint = flask.Blueprint("notifications", __name__)

HISTORY_LIMIT_MAX = 1000

LISTED_AT_ONCE = 20
"""Notifications in one piece of a response; at most about a megabyte."""

CACHE_STATUS = {HIT: "hit", MISS: "fwd=miss", AWAY: "fwd=bypass"}
"""Parameters of the Cache-Status header (RFC 9211, section 2), by the outcome of the lookup in Redis."""


@blueprint.post(publishing.PATH)
def publish() -> flask.Response:
    """Publish a notification (201, or 200 for a repeated key) or a batch (200 with a result for each entry)."""
    require_operator()
    parts = services()
    asked = batch.read(batch.Limits.of(parts.settings))
    key_header = flask.request.environ.get(publishing.KEY_HEADER)
    if key_header is not None:
        _take_key(asked, key_header)
    outcomes = publishing.order(parts, asked.entries)
    for outcome in outcomes:
        if isinstance(outcome, Published) and not outcome.repeated:
            parts.receipts.published(outcome.notification, outcome.recipients)
    if asked.is_batch:
        return body.answer(results=[_result(each) for each in outcomes])
    (outcome,) = outcomes
    if not isinstance(outcome, Published):
        raise outcome
    status, members = publishing.answer_of(outcome)
    return body.answer(status, **members)


def _take_key(asked: batch.Body, header: str) -> None:
    if asked.is_batch:
        raise Malformed(refusal("idempotency_header_of_batch"))
    (entry,) = asked.entries
    if isinstance(entry, publishing.Publish):
        publishing.take_key(entry, header)


def _result(outcome: publishing.Outcome) -> dict[str, object]:
    """Return one entry's result: what the notification alone would be answered, with its status."""
    if not isinstance(outcome, Published):
        return errors.document_of(outcome)
    status, members = publishing.answer_of(outcome)
    return {"status": status, **members}


@blueprint.errorhandler(publishing.TooFast)
def too_fast(error: publishing.TooFast) -> flask.Response:
    """Return 429 with the time to wait."""
    response = errors.problem(429, errors.sentence_of(error))
    response.headers["Retry-After"] = str(error.wait_s)
    return response


@blueprint.errorhandler(publishing.WouldDisturb)
def would_disturb(error: publishing.WouldDisturb) -> flask.Response:
    """Return 409 with the end of the trial."""
    return errors.problem(409, errors.sentence_of(error), ends_us=error.ends_us)


@blueprint.get("/api/notifications")
def history() -> flask.Response:
    """Return the operator's notifications to everyone after an offset or position, oldest first."""
    limit = _limit(flask.request.args.get("limit", "100"))
    parts = services()
    position = parts.broker.position()
    after = _after(flask.request.args.get("after", "0"), epoch=position.epoch)
    if parts.history_cache is not None:
        return _from_cache(parts.history_cache, after, limit)
    return _listed(position, parts.broker.history(after, limit))


def _listed(position: Position, found: Sequence[Notification]) -> flask.Response:
    text = _pieces(str(position), found)
    if len(found) <= LISTED_AT_ONCE:
        return _json("".join(text))
    # Stream it: clients that request all of history and do not read must not each hold a copy of it.
    return _json(text)


def _from_cache(cache: HistoryCache, after: int, limit: int) -> flask.Response:
    """Return the response that Redis caches, or build and cache it; the Cache-Status header says which it was."""
    begun_us = clock.monotonic_us()
    question = f"{after}:{limit}"
    outcome, kept = cache.find(question)
    response = _made(cache, outcome, after, limit, question) if kept is None else _json(kept)
    cache.count(outcome, clock.monotonic_us() - begun_us)
    response.headers["Cache-Status"] = "siar; " + CACHE_STATUS[outcome]
    return response


def _made(cache: HistoryCache, outcome: str, after: int, limit: int, question: str) -> flask.Response:
    broker = services().broker
    # Before the list: a notification published in between then comes twice, instead of never.
    position = broker.position()
    found = broker.history(after, limit)
    if outcome == AWAY or sum(each.json_bytes for each in found) > ANSWER_BYTES_MAX:
        return _listed(position, found)
    text = "".join(_pieces(str(position), found))
    cache.keep(question, text, position=position, left_us=_left_us(found))
    return _json(text)


def _json(text: str | Iterator[str]) -> flask.Response:
    return flask.Response(text, content_type="application/json", headers={"Cache-Control": "no-store"})


def _left_us(found: Sequence[Notification]) -> int | None:
    """Return the time until the first of them expires; `None` if none does."""
    ends_us = [each.expires_us for each in found if each.expires_us is not None]
    return min(ends_us) - clock.now_us() if ends_us else None


def _pieces(position: str, found: Sequence[Notification]) -> Iterator[str]:
    """Yield the stored JSON unchanged: history, event stream and Socket.IO show the same object."""
    yield f'{{"position":{encode_json(position)},"notifications":['
    for start in range(0, len(found), LISTED_AT_ONCE):
        listed = ",".join(notification.json for notification in found[start : start + LISTED_AT_ONCE])
        yield f",{listed}" if start else listed
    yield "]}"


def _after(text: str, *, epoch: str) -> int:
    if "." in text:
        position = parse_position(text)
        return position.offset if position.epoch == epoch else 0  # Another epoch: everything is new.
    if text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= OFFSET_MAX:
        return int(text)
    raise Malformed(refusal("after_malformed"))


def _limit(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= HISTORY_LIMIT_MAX:
        return int(text)
    raise Malformed(refusal("limit_malformed", count=HISTORY_LIMIT_MAX))
