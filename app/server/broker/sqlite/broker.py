"""The broker whose history outlives the process: the histories of `memory://`, written through to a journal.

    publish --journal (commit)--> memory --> listeners        resume, history <-- memory <-- journal, at start

Reading is that of `memory://`: SQLite is a log, read once at start.

Writing happens inside `publish`, under the broker's lock and on the event loop. With `synchronous=normal` a commit is
a write into the page cache, tens of microseconds, which is less than handing it to a thread and back. While the lock
is held, nobody can see an offset that is not stored. A thread waits for the disk (`JournalFlusher`). With
`synchronous=full` each publish waits for the disk and blocks the process: this is the price of safety from power
cuts.

Trials are not written, so that an experiment does not measure a disk. Their offsets are reserved in blocks instead:
before a trial passes `trials_through`, that is moved ahead by a block, so no offset is used twice after a kill.
Offsets below it form a gap for subscribers of trials. The next operator notification, or the end of the server, moves
it back to the last trial's offset.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from app.core.errors import NotKept
from app.core.notification import Notification
from app.server.broker.base import Draft
from app.server.broker.memory import MemoryBroker, use_of
from app.server.broker.sqlite.journal import Journal, JournalRow
from app.server.wsgi.offload import blocking

logger = logging.getLogger("siar.broker")

TRIAL_OFFSETS_RESERVED = 1_000
"""One commit reserves the offsets of this many trial notifications, and a kill in a trial leaves a gap this long."""

DROP_AT_ROWS = 64
"""Rows beyond the bounds of history that are kept until they are deleted together in one commit."""

FLUSH_AFTER_S = 1.0
"""Longest loss by a power cut. Notifications of one second share a flush, which is two writes to the disk."""


class SqliteBroker(MemoryBroker):
    """`sqlite:///PATH`: published notifications survive a restart, with their offset and epoch."""

    def __init__(self, journal: Journal, *, count_max: int, bytes_max: int, age_max_us: int) -> None:
        """Load the history. Raises `StoreError` if the journal cannot be read."""
        super().__init__(count_max=count_max, bytes_max=bytes_max, age_max_us=age_max_us)
        self._journal = journal
        self._last_trial = journal.state.trials_through
        self._load()
        self._flusher = JournalFlusher(journal.flush)
        atexit.register(self._close_journal)

    def close(self) -> None:
        """Shut down in order. The broker must not be used afterwards."""
        self._flusher.stop()
        atexit.unregister(self._close_journal)
        self._close_journal()

    def _close_journal(self) -> None:
        self._journal.close(replace(self._journal.state, trials_through=self._last_trial))

    def _load(self) -> None:
        state = self._journal.state
        self._epoch = state.epoch
        self._operator.lost_through = state.expired_through
        self._trials.lost_through = state.trials_through
        self._offset = max(state.expired_through, state.trials_through)
        for notification in self._journal.notifications():
            self._operator.append(notification)
            self._offset = max(self._offset, notification.offset)
        for key, use in self._journal.uses():
            self._keys.remember(key, use)
            self._offset = max(self._offset, use.offset)

    def _keep(self, new: Sequence[tuple[Draft, Notification]]) -> None:
        rows = [_row(draft, notification) for draft, notification in new if not draft.trial]
        for draft, notification in new:
            if draft.trial:
                self._keep_trial(notification.offset)
        if not rows:
            return
        self._drop_if_due(rows[0].notification.offset)
        state = self._journal.state
        if state.trials_through != self._last_trial:
            state = replace(state, trials_through=self._last_trial)
        self._journal.append(rows, state)
        self._flusher.wake()

    def _keep_trial(self, offset: int) -> None:
        state = self._journal.state
        if offset > state.trials_through:
            self._journal.reserve(replace(state, trials_through=offset + TRIAL_OFFSETS_RESERVED - 1))
        self._last_trial = offset

    def _drop_if_due(self, offset: int) -> None:
        rows = self._journal.notification_count - len(self._operator)
        keys = self._journal.key_count - len(self._keys)
        if max(rows, keys) < DROP_AT_ROWS:
            return
        state = replace(self._journal.state, expired_through=self._operator.lost_through)
        first, first_use = self._operator.first_offset, self._keys.first_offset
        self._journal.drop_before(
            notification=offset if first is None else first,
            use=offset if first_use is None else first_use,
            state=state,
        )


class JournalFlusher:
    """Calls `flush` within `FLUSH_AFTER_S` of a `wake`, in a real thread, since a disk may block for long."""

    def __init__(self, flush: Callable[[], None]) -> None:
        self._flush = flush
        self._wanted = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="siar-journal", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Request a flush: something was written."""
        if not self._wanted.is_set():
            self._wanted.set()

    def stop(self) -> None:
        """End the thread. No flush is in progress when this returns."""
        self._stopped.set()
        self._wanted.set()
        self._thread.join()

    def _run(self) -> None:
        # Checked here too: a `stop` between the wait and `clear` would otherwise be lost, and `join` never return.
        while not self._stopped.is_set():
            self._wanted.wait()
            if self._stopped.wait(FLUSH_AFTER_S):
                return
            self._wanted.clear()
            try:
                blocking(self._flush)
            except NotKept as error:
                logger.warning("%s What was published stays safe from all but a power cut.", error)


def _row(draft: Draft, notification: Notification) -> JournalRow:
    key = draft.idempotency_key
    return JournalRow(notification, key, None if key is None else use_of(draft, notification, {}))
