"""Signals that end a command: SIGTERM and a closed terminal (SIGHUP) do what Ctrl-C does."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)

AGAIN_S = 0.01
"""Time after which a lost signal is sent again: a finalizer is over by then, or loses it once more."""


@contextlib.contextmanager
def as_ctrl_c() -> Iterator[None]:
    """Raise `KeyboardInterrupt` in the main thread at the first of these signals.

    Later ones do nothing, because they must not interrupt the cleanup: a closed terminal sends several. A signal that whoever
    started us ignores (`nohup`) stays ignored.

    A signal is sent again if its exception was lost: Python ignores what is raised in a finalizer, and requests leaves
    one behind each HTTP request.
    """
    is_ending, last = False, signal.SIGINT

    def interrupt(number: int, _frame: FrameType | None) -> None:
        nonlocal is_ending, last
        if not is_ending:
            is_ending, last = True, signal.Signals(number)
            raise KeyboardInterrupt

    def send_again(lost: sys.UnraisableHookArgs) -> None:
        nonlocal is_ending
        if lost.exc_type is not KeyboardInterrupt:
            hook(lost)
            return
        is_ending = False
        threading.Timer(AGAIN_S, signal.pthread_kill, (threading.main_thread().ident, last)).start()

    before = {number: signal.getsignal(number) for number in ENDING}
    ours = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in ours:
        signal.signal(number, interrupt)
    hook, sys.unraisablehook = sys.unraisablehook, send_again
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number in ours:
            signal.signal(number, before[number])


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Do nothing at these signals: what is measured is written within seconds, and the command ends after that."""
    before = {number: signal.getsignal(number) for number in ENDING}
    for number in ENDING:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def by_default() -> None:
    """Let these signals and Ctrl-C end the process at once, for one that is about to become another program.

    With a handler of ours, one that comes in the last moment before that would be lost.
    """
    for number in (*ENDING, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
