"""Answers to `GET /api/notifications`, kept in Redis until the next notification, or for a time at most.

    asked -> kept in Redis? -- yes: hit ------------------------------------------------------------> answer
                  |
                  +- no: miss -> made from this server's own copy of history -> kept, if it still holds -> answer

What is kept holds for the newest notification that Redis has: the script that appends one deletes all answers, and the
one that keeps an answer looks first whether it still holds. So nobody is given an older history than Redis has,
whichever server published. While Redis is away, every answer is made here.

A server's copy of history is in its memory, so that a hit costs a round trip where a miss costs putting strings
together: whether this pays is for a measurement to say (`./siar load --preset vps`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol

from app.core.errors import SiarError
from app.core.notification import utf8_bytes
from app.core.position import Position

ANSWER_BYTES_MAX = 65_536
"""A hundred notifications of half a kilobyte. Longer ones go to their readers piece by piece and are not kept."""

ANSWERS_MAX = 32
"""Questions are strangers' own (`after`, `limit`): with a bound on both, what they can fill is two megabytes."""

HIT, MISS, AWAY = "hit", "miss", "away"
OUTCOMES = (HIT, MISS, AWAY)
"""Every value of the label `outcome` of siar_history_answers_total."""

logger = logging.getLogger("siar.broker")


class Link(Protocol):
    """The way to Redis, as far as it is used here."""

    def ask(self, script: str, *arguments: str | int) -> list[Any]:
        """What a script answers."""
        ...

    def kept_answer(self, question: str) -> bytes | None:
        """What is kept of an answer."""
        ...


class HistoryCache:
    """One server's way to the answers that all servers share."""

    def __init__(self, link: Link, *, ttl_ms: int, is_away: Callable[[], bool]) -> None:
        self._link = link
        self._ttl_ms = ttl_ms
        self._is_away = is_away
        self.answers = dict.fromkeys(OUTCOMES, 0)
        """By outcome."""
        self.took_us = dict.fromkeys(OUTCOMES, 0)
        """The same answers: the time until each was there."""

    def find(self, question: str) -> tuple[str, str | None]:
        """The outcome, and the answer of a hit."""
        if self._is_away():
            return AWAY, None
        try:
            found = self._link.kept_answer(question)
        except SiarError as error:
            logger.warning("Answers are made without Redis: %s", error)
            return AWAY, None
        return (MISS, None) if found is None else (HIT, found.decode())

    def keep(self, question: str, answer: str, *, position: Position, left_us: int | None = None) -> None:
        """Keep an answer that holds at a position; `left_us`: until something in it may not be shown any more."""
        ttl_ms = self._ttl_ms if left_us is None else min(self._ttl_ms, left_us // 1000)
        if ttl_ms < 1 or utf8_bytes(answer) > ANSWER_BYTES_MAX:
            return
        try:
            self._link.ask("keep", position.epoch, position.offset, question, answer, ttl_ms, ANSWERS_MAX)
        except SiarError as error:
            # An answer that is not kept is made again, which is all that happens.
            logger.info("An answer was not kept: %s", error)

    def count(self, outcome: str, took_us: int) -> None:
        """One more answer."""
        self.answers[outcome] += 1
        self.took_us[outcome] += took_us
