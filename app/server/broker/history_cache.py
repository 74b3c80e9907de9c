"""Cached responses of `GET /api/notifications` in Redis, valid until the next notification or a time limit.

    request -> in Redis? -- yes: hit -----------------------------------------------------------> response
                  |
                  +- no: miss -> built from this server's copy of history -> stored if still valid -> response

A cached response belongs to the newest notification in Redis. The script that appends one deletes all responses, and
the script that stores one first checks that it is still valid. So no client gets an older history than Redis has,
whichever server published. While Redis is unreachable, every response is built locally.

A server's copy of history is in its memory, so a hit costs a round trip where a miss costs concatenating strings.
Whether the cache pays off is measured by `./siar load --preset vps`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol

from app.core.errors import SiarError
from app.core.notification import utf8_bytes
from app.core.position import Position

ANSWER_BYTES_MAX = 65_536
"""About a hundred notifications of half a kilobyte. Longer responses are streamed and not cached."""

ANSWERS_MAX = 32
"""Clients choose the query (`after`, `limit`): with both bounds, they can fill two megabytes at most."""

HIT, MISS, AWAY = "hit", "miss", "away"
OUTCOMES = (HIT, MISS, AWAY)
"""The values of the label `outcome` of siar_history_answers_total."""

logger = logging.getLogger("siar.broker")


class Link(Protocol):
    """The part of the connection to Redis that the cache uses."""

    def ask(self, script: str, *arguments: str | int) -> list[Any]:
        """Run a script and return its result."""
        ...

    def cached_response(self, question: str) -> bytes | None:
        """Return the cached response to a query, if there is one."""
        ...


class HistoryCache:
    """One server's access to the responses that all servers share."""

    def __init__(self, link: Link, *, ttl_ms: int, is_away: Callable[[], bool]) -> None:
        self._link = link
        self._ttl_ms = ttl_ms
        self._is_away = is_away
        self.answers = dict.fromkeys(OUTCOMES, 0)
        """Count of requests by outcome."""
        self.took_us = dict.fromkeys(OUTCOMES, 0)
        """Total time of the same requests until the response was available, by outcome."""

    def find(self, question: str) -> tuple[str, str | None]:
        """Look up a query; return the outcome, and the response on a hit."""
        if self._is_away():
            return AWAY, None
        try:
            found = self._link.cached_response(question)
        except SiarError as error:
            logger.warning("Answers are made without Redis: %s", error)
            return AWAY, None
        return (MISS, None) if found is None else (HIT, found.decode())

    def keep(self, question: str, answer: str, *, position: Position, left_us: int | None = None) -> None:
        """Store a response that is valid at `position`, for at most `left_us` if something in it expires then."""
        ttl_ms = self._ttl_ms if left_us is None else min(self._ttl_ms, left_us // 1000)
        if ttl_ms < 1 or utf8_bytes(answer) > ANSWER_BYTES_MAX:
            return
        try:
            self._link.ask("keep", position.epoch, position.offset, question, answer, ttl_ms, ANSWERS_MAX)
        except SiarError as error:
            # The response is merely built again next time.
            logger.info("An answer was not kept: %s", error)

    def count(self, outcome: str, took_us: int) -> None:
        """Count a request."""
        self.answers[outcome] += 1
        self.took_us[outcome] += took_us
