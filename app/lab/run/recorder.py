"""The only writer of a live run's store: `python -P -m app.lab.run.recorder --folder runs/<live run>`.

The server appends what phones post to the run's spool and does nothing else on disk; this process takes it from
there about once a second. It ends, after a last look, when its standard input ends or at SIGTERM.

A full disk or a damaged store does not end it: it says so once and tries again every second. Nothing is lost by the
wait, because the spool keeps what was posted, and how far it was read is written with what was read.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import signal
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

from app.core.errors import Conflict, SiarError, StoreError
from app.core.plan.scenario import LIVE_PROFILE, Plan, arms_from_names
from app.core.wire import TRANSPORTS
from app.lab.measure import host
from app.store import database, spool
from app.store import run_ids as naming
from app.store.store import FILE_NAME, RunHead, Store

PERIOD_S = 1.0

TROUBLES = (Conflict, StoreError, sqlite3.Error, OSError)
"""What a disk, or somebody at work in the folder, can do to a store: reasons to try again."""


def live_plan() -> Plan:
    """What stands for a plan in a live run, which has no trials: phones come and go as they like."""
    return Plan(
        arms=arms_from_names(list(TRANSPORTS)),
        client_counts=(1,),
        blocks=1,
        notifications=1,
        warmup_notifications=0,
        rate_hz=1.0,
        payload_bytes=512,
        seed=0,
        profile=LIVE_PROFILE,
        environment="lan",
    )


def open_live(folder: Path) -> Store:
    """The store in `folder`; made when the server has made the folder but nobody the store."""
    path = folder / FILE_NAME
    if path.is_file() and _is_blank(path):
        database.remove(path)
    if path.exists():
        return Store.open(folder, write=True)
    head = RunHead(
        id=folder.name,
        started=naming.utc_now(),
        plan=live_plan(),
        conditions=host.conditions(settings={}, server={}),
        simulated=False,
    )
    return Store.create(folder, head, folder_exists=True)


class Intake:
    """From the spool to the store, again and again, whatever the disk says in between."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store: Store | None = None
        self._is_in_trouble = False

    def look(self) -> bool:
        """Take in what is there, with a store opened anew after trouble; whether it went well."""
        try:
            if self._store is None:
                self._store = open_live(self._folder)
            spool.ingest(self._store)
        except TROUBLES as error:
            self.close()
            if not self._is_in_trouble:
                _say(
                    f"{self._sentence(error)} What phones post waits in {spool.FILE_NAME}; trying again every second."
                )
            self._is_in_trouble = True
        else:
            if self._is_in_trouble:
                _say(f"{self._folder / FILE_NAME} is written again.")
            self._is_in_trouble = False
        return not self._is_in_trouble

    def close(self) -> None:
        """Let go of the store."""
        if self._store is not None:
            with contextlib.suppress(sqlite3.Error):
                self._store.close()
            self._store = None

    def _sentence(self, error: Exception) -> str:
        if isinstance(error, SiarError):
            return str(error)
        return f"{self._folder / FILE_NAME} cannot be written: {error}."


def record(folder: Path, *, input_fd: int, wake_fd: int) -> bool:
    """Take the spool in until `input_fd` or `wake_fd` says that it is over; whether the last look went well."""
    with contextlib.closing(Intake(folder)) as intake:
        while True:
            intake.look()
            ready, _, _ = select.select([input_fd, wake_fd], [], [], PERIOD_S)
            if wake_fd in ready or (input_fd in ready and not os.read(input_fd, 4096)):
                return intake.look()


def _is_blank(path: Path) -> bool:
    """Whether the maker of this database died, or ran out of disk, before its first word."""
    with (
        database.reporting_damage(path),
        contextlib.closing(database.connect(path, write=True)) as connection,
    ):
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        return bool(tables == 0 and application == 0)


def _say(text: str) -> None:
    # The log may be on the same full disk.
    with contextlib.suppress(OSError):
        print(f"siar recorder: {text}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Run until told to end."""
    parser = argparse.ArgumentParser(prog="recorder", description="Takes a live run's spool into its store.")
    parser.add_argument("--folder", type=Path, required=True)
    folder: Path = parser.parse_args(arguments).folder
    wake_fd, signal_fd = os.pipe()
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches the server, which ends this process in order.
    signal.signal(signal.SIGTERM, lambda *_: os.write(signal_fd, b"."))
    return 0 if record(folder, input_fd=sys.stdin.fileno(), wake_fd=wake_fd) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
