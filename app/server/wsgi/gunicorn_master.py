"""Checks how gunicorn's master starts this application, so that it never runs more workers than it can serve with.

gunicorn can be told to start several workers in many ways (`-w`, `GUNICORN_CMD_ARGS`, `WEB_CONCURRENCY`, a
configuration file, SIGTTIN), and none of them informs the application. But a worker is a fork of the master, so the
master's arbiter is among the callers when the application is loaded.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import time
from typing import Any, NoReturn

from app.core.broker_url import parse_broker_url
from app.core.sentence import Sentence
from app.i18n import refusal
from app.settings import Settings

logger = logging.getLogger("siar.start")

SHRINK_TRIES = 5
SHRINK_PAUSE_S = 0.2
"""Signals of one kind that arrive together count once, so the request is repeated while an older worker exists."""


PRELOAD = (
    "gunicorn's --preload (preload_app) loads the application in its master, whose threads and connections no worker "
    "has: nothing would be served. Start it without."
)
USR2 = (
    "SIGUSR2 asks for a second master on the same socket: what is published at one would not reach the subscribers of "
    "the other. The first one stays. Restart it instead, or set a shared broker, SIAR_BROKER=redis://HOST:PORT."
)


def find_arbiter() -> Any | None:
    """Return the arbiter that loads this application, or its copy after the fork; `None` under any other server."""
    module = sys.modules.get("gunicorn.arbiter")
    frame = sys._getframe()
    while module is not None and frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, module.Arbiter):
            return caller
        frame = frame.f_back  # type: ignore[assignment]
    return None


def check_start(settings: Settings) -> Sentence | None:
    """Return why every request must be refused under gunicorn, or `None`.

    Ends the start if gunicorn loads the application in the master, starts more workers than SIAR_WORKERS, or is a
    second master on the same socket (SIGUSR2).
    """
    arbiter = find_arbiter()
    if arbiter is None:
        return None
    workers = settings.workers
    if arbiter.cfg.preload_app:
        sys.exit(f"siar: {PRELOAD}")
    if arbiter.cfg.workers > workers:
        _end_master(workers_sentence(arbiter.cfg.workers, workers))
    if arbiter.master_pid and not is_shared(settings):
        _end_master(USR2)
    if arbiter.num_workers > workers:
        logger.warning("%s The older worker ends, and this one takes its place.", ttin_sentence(workers))
        _shrink(arbiter)
    return refusal("one_at_a_time") if _serves_one_at_a_time(arbiter) else None


def workers_sentence(count: int, workers: int) -> str:
    """Return why `count` workers are refused if the settings allow `workers`."""
    return (
        f"gunicorn is to start {count} workers, and SIAR_WORKERS is {workers}: what is published at one worker would not "
        "reach the subscribers of another. Start one worker (look at -w, --workers, GUNICORN_CMD_ARGS, WEB_CONCURRENCY "
        f"and the configuration file), or set SIAR_WORKERS={count} and a broker that they share, "
        "SIAR_BROKER=redis://HOST:PORT."
    )


def ttin_sentence(workers: int) -> str:
    """Return why SIGTTIN adds no worker."""
    return (
        f"SIGTTIN asks for one worker more than SIAR_WORKERS={workers}: what is published at one would not reach the "
        "subscribers of another. The number stays; several need a shared broker and SIAR_WORKERS."
    )


def is_shared(settings: Settings) -> bool:
    """Return True if several processes may share what the settings name as broker."""
    return parse_broker_url(settings.broker).is_shared


def _end_master(sentence: str) -> NoReturn:
    """End gunicorn as a whole, which it does when a worker cannot import its application."""
    from gunicorn.errors import AppImportError

    raise AppImportError(f"siar: {sentence}")


def _shrink(arbiter: Any) -> None:
    """Let the master end the surplus worker. It ends the oldest one first, as at a reload."""
    older = list(arbiter.WORKERS)
    for _ in range(SHRINK_TRIES):
        with contextlib.suppress(ProcessLookupError):
            os.kill(arbiter.pid, signal.SIGTTOU)
        time.sleep(SHRINK_PAUSE_S)
        if not any(_is_there(pid) for pid in older):
            return


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _serves_one_at_a_time(arbiter: Any) -> bool:
    """Return True if one stream would occupy the whole worker."""
    names = {each.__name__ for each in arbiter.worker_class.__mro__}
    return "SyncWorker" in names or ("ThreadWorker" in names and arbiter.cfg.threads == 1)
