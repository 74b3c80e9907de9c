"""A thread that keeps a server in step with Redis, and detects whether Redis is reachable."""

from __future__ import annotations

import logging
import threading
import time
from typing import Protocol

from app import clock
from app.core.errors import BrokerAway, SiarError

CHECK_EVERY_US = 1_000_000
"""Interval at which the thread checks that what it has read is still in Redis, however much comes in."""

TRY_AGAIN_S = 0.1
"""Pause between attempts while Redis is unreachable."""

logger = logging.getLogger("siar.broker")


class Followed(Protocol):
    """The part of the broker that the thread uses."""

    def catch_up(self) -> None:
        """Take everything new, and detect losses."""
        ...

    def follow(self) -> None:
        """Wait for something new and take it."""
        ...

    def hang_up(self) -> None:
        """Close the connections to Redis."""
        ...

    def report_away(self, *, is_away: bool) -> None:
        """Report that Redis has become unreachable, or reachable again."""
        ...


class Follower:
    """Follows Redis until it is stopped, in a thread (a green one where threads are green)."""

    def __init__(self, broker: Followed) -> None:
        """Create it; `start` starts the thread."""
        self._broker = broker
        self._stopped = threading.Event()
        self._checked_us: int | None = None
        self.is_away = False
        """Redis is unreachable: publishers are refused at once, without another timeout."""

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="siar-redis", daemon=True).start()

    def stop(self) -> None:
        """End the thread after its current wait; it then closes the connections."""
        self._stopped.set()

    @property
    def is_stopped(self) -> bool:
        """True after `stop`."""
        return self._stopped.is_set()

    def report_unreachable(self) -> None:
        """Note that Redis did not answer a caller. The thread detects when it answers again."""
        self._checked_us = None
        if not self.is_away:
            self.is_away = True
            logger.warning("Redis is away: nothing can be published until it is back; subscribers stay.")
            self._broker.report_away(is_away=True)

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
                    self.report_unreachable()
                    time.sleep(TRY_AGAIN_S)
            except SiarError as error:
                # Redis answers, but with something unusable: check again later.
                if not self._stopped.is_set():
                    logger.error("%s", error)
                    self.report_unreachable()
                    time.sleep(CHECK_EVERY_US / 1e6)
            except Exception:  # Without this thread the server would serve a history that never grows.
                if not self._stopped.is_set():
                    logger.exception("Following Redis failed.")
                    self.report_unreachable()
                    time.sleep(CHECK_EVERY_US / 1e6)

    def _step(self) -> None:
        now_us = clock.monotonic_us()
        if self._checked_us is None or now_us - self._checked_us >= CHECK_EVERY_US:
            self._checked_us = now_us
            self._broker.catch_up()
            if self.is_away and self._checked_us is not None:
                self.is_away = False
                logger.warning("Redis is back.")
                self._broker.report_away(is_away=False)
        self._broker.follow()
