"""The thread that keeps a server level with Redis, and knows whether Redis is there."""

from __future__ import annotations

import logging
import threading
import time
from typing import Protocol

from app import clock
from app.core.errors import BrokerAway, SiarError

LOOK_EVERY_US = 1_000_000
"""So often the reader asks whether what it has read is still there, however much comes in."""

TRY_AGAIN_S = 0.1
"""While Redis is away: a restart is noticed within it."""

logger = logging.getLogger("siar.broker")


class Followed(Protocol):
    """The broker, as the thread sees it."""

    def catch_up(self) -> None:
        """Take everything that is new, and find out whether something was lost."""
        ...

    def follow(self) -> None:
        """Wait for something new and take it."""
        ...

    def hang_up(self) -> None:
        """Close what is open."""
        ...

    def say_away(self, *, is_away: bool) -> None:
        """Redis has gone, or is back."""
        ...


class Follower:
    """Follows until it is stopped. Green where threads are."""

    def __init__(self, broker: Followed) -> None:
        """Not following yet."""
        self._broker = broker
        self._stopped = threading.Event()
        self._looked_us: int | None = None
        self.is_away = False
        """Nothing can be published: publishers are told at once, without waiting for Redis' silence again."""

    def start(self) -> None:
        """Begin."""
        threading.Thread(target=self._run, name="siar-redis", daemon=True).start()

    def stop(self) -> None:
        """The thread ends when its present wait does, and closes the connections behind itself."""
        self._stopped.set()

    @property
    def is_stopped(self) -> bool:
        """Whether nobody wants to hear anything any more."""
        return self._stopped.is_set()

    def went_away(self) -> None:
        """Somebody got no answer. The thread finds out when there is one again."""
        self._looked_us = None
        if not self.is_away:
            self.is_away = True
            logger.warning("Redis is away: nothing can be published until it is back; subscribers stay.")
            self._broker.say_away(is_away=True)

    def _run(self) -> None:
        try:
            self._follow()
        finally:
            self._broker.hang_up()

    def _follow(self) -> None:
        while not self._stopped.is_set():
            try:
                self._step()
            except BrokerAway:
                if not self._stopped.is_set():
                    self.went_away()
                    time.sleep(TRY_AGAIN_S)
            except SiarError as error:
                # It answers, and what it says is of no use: nothing to do but to look again.
                if not self._stopped.is_set():
                    logger.error("%s", error)
                    self.went_away()
                    time.sleep(LOOK_EVERY_US / 1e6)
            except Exception:  # Without this thread the server would go on with a history that never grows.
                if not self._stopped.is_set():
                    logger.exception("Following Redis failed.")
                    self.went_away()
                    time.sleep(LOOK_EVERY_US / 1e6)

    def _step(self) -> None:
        now_us = clock.monotonic_us()
        if self._looked_us is None or now_us - self._looked_us >= LOOK_EVERY_US:
            self._looked_us = now_us
            self._broker.catch_up()
            if self.is_away and self._looked_us is not None:
                self.is_away = False
                logger.warning("Redis is back.")
                self._broker.say_away(is_away=False)
        self._broker.follow()
