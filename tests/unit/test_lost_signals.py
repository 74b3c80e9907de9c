"""A signal whose exception Python ignores, because a finalizer was running, ends the command all the same."""

from __future__ import annotations

import os
import signal
import sys
import time
import weakref

import pytest

from app.cli import signals

PATIENCE_S = 5.0


class Thing:
    """An object with a finalizer."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda each: each.name)
def test_a_signal_during_a_finalizer_is_not_lost(number: signal.Signals) -> None:
    finalized = []

    def finalize() -> None:
        os.kill(os.getpid(), number)
        time.sleep(0)  # Its exception is raised here at the latest, and ignored.
        finalized.append("to its end")

    @signals.as_ctrl_c()
    def command() -> None:
        thing = Thing()
        weakref.finalize(thing, finalize)
        del thing
        time.sleep(PATIENCE_S)

    with pytest.raises(KeyboardInterrupt):
        command()

    assert finalized == []


def test_other_ignored_exceptions_are_reported_as_before() -> None:
    reported: list[object] = []
    before, sys.unraisablehook = sys.unraisablehook, lambda lost: reported.append(lost.exc_type)
    try:
        with signals.as_ctrl_c():
            thing = Thing()
            weakref.finalize(thing, lambda: 1 / 0)
            del thing
        assert sys.unraisablehook is not before
    finally:
        sys.unraisablehook = before

    assert reported == [ZeroDivisionError]
