"""gunicorn's master with our reactions to signals and to a pause; `gunicorn.conf.py` makes the arbiter one.

docs/operations.md has them all as a table.
"""

from __future__ import annotations

import os
import signal
from enum import Enum
from typing import Any

from gunicorn.arbiter import Arbiter

from app import clock
from app.server.wsgi import leaving
from app.server.wsgi.gunicorn_master import USR2, is_shared, ttin_sentence
from app.settings import Settings

ABSENT_US = 5_000_000
"""Time between two rounds of the master's loop, which takes a second, after which the master itself did not run."""


ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


class HangUp(Enum):
    """What SIGHUP means, which is decided at the start."""

    IGNORE = "ignore"
    """Whoever started it ignores the signal (`nohup`)."""
    END = "end"
    """Its terminal was closed."""
    RELOAD = "reload"
    """It has no terminal: an operator or an init system asks for a new worker."""


def hang_up() -> HangUp:
    """Return what SIGHUP means for this process. Call it before anything has installed a handler."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return HangUp.IGNORE
    return HangUp.END if _has_terminal() else HangUp.RELOAD


def adopt(arbiter: Any, settings: Settings) -> None:
    """Make gunicorn's arbiter, which has not installed its signal handlers yet, ours."""
    arbiter.__class__ = SiarMaster
    arbiter.siar_settings = settings
    arbiter.siar_hang_up = hang_up()


def let_signals_end_it() -> None:
    """In a new worker: act on signals from now on. gunicorn's worker installs handlers once its library is patched."""
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


class SiarMaster(Arbiter):  # type: ignore[misc]
    """The master. All methods run in its main loop, outside of signal handlers."""

    siar_settings: Settings
    siar_hang_up: HangUp
    looked_us = 0
    """Time of the last round of the loop (monotonic), or of the first fork; 0 before that."""
    judges_from_us = 0
    """Time before which no worker is judged silent (monotonic)."""

    def handle_hup(self) -> None:
        """End in order if the terminal was closed, or reload."""
        if self.siar_hang_up is HangUp.IGNORE:
            self.log.info("A hang-up is ignored, as it was at the start (nohup).")
        elif self.siar_hang_up is HangUp.END:
            self.log.info("The terminal was closed; ending as at SIGTERM.")
            self.handle_term()
        else:
            super().handle_hup()
            self.looked_us = clock.monotonic_us()  # A reload waits for the old worker.

    def handle_term(self) -> None:
        """End in order, at once or after the time for balancers."""
        if self.siar_settings.drain_delay_s > 0:
            self._stay_unready()
        super().handle_term()

    def handle_ttin(self) -> None:
        """Add a worker if there is one too few."""
        if self.num_workers < self.siar_settings.workers:
            super().handle_ttin()
        else:
            self.log.warning(ttin_sentence(self.siar_settings.workers))

    def handle_usr2(self) -> None:
        """Start a second master only if it would share history with this one."""
        if is_shared(self.siar_settings):
            super().handle_usr2()
        else:
            self.log.warning(USR2)

    def spawn_worker(self) -> Any:
        """Fork a worker.

        A signal that comes before `let_signals_end_it` waits for it: the handlers that a worker inherits only put it into
        a queue that nobody reads there, and the master would wait for the worker until the drain's limit.
        """
        self.looked_us = self.looked_us or clock.monotonic_us()  # A pause can begin before the first round.
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            return super().spawn_worker()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    def murder_workers(self) -> None:
        """Replace a worker that is silent, unless the silence is our own.

        A master that was stopped wakes beside workers whose last sign is as old as the pause: they get one more period.
        """
        now_us = clock.monotonic_us()
        absent_us = now_us - self.looked_us
        self.looked_us = now_us
        if absent_us > ABSENT_US:
            self.judges_from_us = now_us + round(self.timeout * 1e6)
            self.log.warning(
                "This server did not run for %.0f s (stopped, or no processor).", absent_us / 1e6
            )
        if now_us >= self.judges_from_us:
            super().murder_workers()

    def _stay_unready(self) -> None:
        """Serve on while `/readyz` answers 503, until the time is over or a second signal comes."""
        seconds = self.siar_settings.drain_delay_s
        leaving.announce()
        self.log.info("Ending in %g s; until then /readyz answers 503.", seconds)
        end_us = clock.monotonic_us() + round(seconds * 1e6)
        while (left_us := end_us - clock.monotonic_us()) > 0:
            received = self.wait_for_signals(timeout=left_us / 1e6)
            if signal.SIGCHLD in received:
                self.reap_workers()
            if {signal.SIGINT, signal.SIGQUIT, signal.SIGTERM} & set(received):
                return


def _has_terminal() -> bool:
    """Return True if this process has a controlling terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
