"""The thread that brings a history to the disk, and how it ends."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import ClassVar

import pytest

from app.server.broker.sqlite import broker as broker_module

TIMEOUT_S = 10.0


class LateEvent(threading.Event):
    """An event whose `clear` comes at the worst moment: when `stop` has set all that it sets."""

    may_stop = threading.Event()
    is_set_again = threading.Barrier(2, timeout=TIMEOUT_S)
    sets_by_stop: ClassVar[list[LateEvent]] = []

    def set(self) -> None:
        super().set()
        if self.may_stop.is_set():
            self.sets_by_stop.append(self)
            if len(self.sets_by_stop) == 2:
                self.is_set_again.wait()

    def clear(self) -> None:
        self.may_stop.set()
        self.is_set_again.wait()
        super().clear()


def test_a_stop_that_comes_just_before_a_flush_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_module, "FLUSH_AFTER_S", 0.0)
    monkeypatch.setattr(broker_module, "threading", SimpleNamespace(Event=LateEvent, Thread=threading.Thread))
    flushed: list[str] = []
    under_test = broker_module.JournalFlusher(lambda: flushed.append("once"))
    stopping = threading.Thread(target=under_test.stop, daemon=True)

    under_test.wake()
    assert LateEvent.may_stop.wait(TIMEOUT_S)
    stopping.start()
    stopping.join(TIMEOUT_S)

    assert not stopping.is_alive(), "it waits for a thread that waits for the next flush"
    assert flushed == ["once"]
