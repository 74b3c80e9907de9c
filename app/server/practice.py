"""A practice round: one short trial per transport, conducted by the server itself and not stored.

    connect: phones open the transport -> running: a few notifications -> collect -> next transport, or the end

Meanwhile the room keeps gathering: a practice round neither starts an experiment nor prevents one.
"""

from __future__ import annotations

import dataclasses
import itertools
import logging
import secrets
import threading
import time
from collections.abc import Callable

from app import clock
from app.core.errors import Conflict, SiarError
from app.core.wire import TRANSPORTS
from app.server.room.room import Room
from app.server.room.trial import STATE_COLLECT, STATE_CONNECT, STATE_RUNNING, RoomTrial
from app.server.source import TrialOrder, Trials

logger = logging.getLogger("siar.practice")

RUN_PREFIX = "practice-"

FIRST_INDEX = 900_000
"""Index of the first practice trial, above any experiment's, so that a phone's report is never taken for one of those."""

NOTIFICATIONS = 5
WARMUP = 1
RATE_HZ = 2.0
PAYLOAD_BYTES = 512
START_AFTER_MS = 2000
"""Time until the first notification; phones that polled just before will have learned of the start."""
DRAIN_MS = 2000

CONNECT_LIMIT_S = 20.0
COLLECT_LIMIT_S = 10.0
TRIAL_LIMIT_S = 60.0
"""Far longer than a practice trial takes."""

POLL_S = 0.1


def is_practice(run: str) -> bool:
    """Return whether a run id is that of a practice round, of which nothing is stored."""
    return run.startswith(RUN_PREFIX)


class Practice:
    """The practice rounds of this server, one at a time."""

    def __init__(self, room: Room, trials: Trials) -> None:
        self._room = room
        self._trials = trials
        self._indexes = itertools.count(FIRST_INDEX)

    def begin(self) -> str:
        """Start a round with the present phones; return its run id. Raises `Conflict`."""
        run = RUN_PREFIX + secrets.token_hex(4)
        self._room.begin_practice(run)
        threading.Thread(target=self._conduct, args=(run,), name="siar-practice", daemon=True).start()
        return run

    def _conduct(self, run: str) -> None:
        try:
            for transport in TRANSPORTS:
                self._run_trial(run, next(self._indexes), transport)
        except (
            Conflict
        ) as error:  # The operator started or closed the room, or something else is being measured.
            logger.info("The practice round ended early: %s", error)
        except SiarError as error:
            logger.warning("The practice round ended early: %s", error)
        finally:
            self._room.end_practice(run)

    def _run_trial(self, run: str, index: int, transport: str) -> None:
        room = self._room
        devices = frozenset(each.device for each in room.present() if not room.is_away(each))
        trial = RoomTrial(
            index=index,
            block=0,
            clients=len(devices),
            transport=transport,
            expected_count=WARMUP + NOTIFICATIONS,
            warmup_count=WARMUP,
            rate_hz=RATE_HZ,
            drain_ms=DRAIN_MS,
            topic=_order(run, index, transport).topic,
            factors={},
            state=STATE_CONNECT,
            participants=devices,
        )
        room.set_practice_trial(run, trial)
        self._wait(lambda: room.all_reported("trial_ready", trial), limit_s=CONNECT_LIMIT_S)
        room.set_practice_trial(run, trial)  # Raises if somebody ended the round meanwhile.
        begun = self._trials.start(_order(run, index, transport))
        try:
            running = dataclasses.replace(
                trial, state=STATE_RUNNING, first_due_us=begun.first_due_us, ends_us=begun.ends_us
            )
            room.set_practice_trial(run, running)
            self._wait(
                lambda: room.practice_run != run or clock.now_us() >= begun.ends_us, limit_s=TRIAL_LIMIT_S
            )
            room.set_practice_trial(run, dataclasses.replace(running, state=STATE_COLLECT))
            self._wait(lambda: room.all_reported("trial_done", trial), limit_s=COLLECT_LIMIT_S)
        finally:
            self._trials.close(run, index)

    @staticmethod
    def _wait(condition: Callable[[], bool], *, limit_s: float) -> None:
        """Wait until the condition holds or the limit passes; one unresponsive phone must not block the round."""
        until_us = clock.monotonic_us() + round(limit_s * 1e6)
        while not condition() and clock.monotonic_us() < until_us:
            time.sleep(POLL_S)


def _order(run: str, index: int, transport: str) -> TrialOrder:
    return TrialOrder(
        run=run,
        trial=index,
        block=0,
        transport=transport,
        notifications=NOTIFICATIONS,
        warmup_notifications=WARMUP,
        rate_hz=RATE_HZ,
        payload_bytes=PAYLOAD_BYTES,
        start_after_ms=START_AFTER_MS,
        drain_ms=DRAIN_MS,
    )
