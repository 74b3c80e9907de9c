"""The only writer of a live run's store: `python -P -m app.lab.run.recorder --folder runs/<live run>`.

The server only appends posted samples to the run's spool. This process moves them into the store about once a second. It ends
after a last pass, at the end of its standard input or at SIGTERM.

On a full disk or with a damaged store it logs the problem once and retries every second. Nothing is lost meanwhile: the spool
keeps all samples, and the position up to which it was read is stored together with them.
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
from app.core.exit_codes import EXIT_FAILURE, EXIT_OK
from app.core.plan.scenario import LIVE_PROFILE, Plan, arms_from_names
from app.core.wire import TRANSPORTS
from app.lab.measure import host
from app.store import database, spool
from app.store import run_ids as naming
from app.store.store import FILE_NAME, RunHead, Store

PERIOD_S = 1.0

TROUBLES = (Conflict, StoreError, sqlite3.Error, OSError)
"""Errors by the disk, or by another user of the folder, after which the recorder retries."""


def live_plan() -> Plan:
    """Return a placeholder plan for a live run, which has no trials."""
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
    """Open the store in `folder`; create it if the folder has none yet."""
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
    """Moves samples from the spool to the store, and recovers from errors of the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store: Store | None = None
        self._is_in_trouble = False

    def ingest(self) -> bool:
        """Move all samples that are there; open the store again after an error. Return true without an error."""
        try:
            if self._store is None:
                self._store = open_live(self._folder)
            spool.ingest(self._store)
        except TROUBLES as error:
            self.close()
            if not self._is_in_trouble:
                _log(
                    f"{self._sentence(error)} What phones post waits in {spool.FILE_NAME}; trying again every second."
                )
            self._is_in_trouble = True
        else:
            if self._is_in_trouble:
                _log(f"{self._folder / FILE_NAME} is written again.")
            self._is_in_trouble = False
        return not self._is_in_trouble

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            with contextlib.suppress(sqlite3.Error):
                self._store.close()
            self._store = None

    def _sentence(self, error: Exception) -> str:
        if isinstance(error, SiarError):
            return str(error)
        return f"{self._folder / FILE_NAME} cannot be written: {error}."


def record(folder: Path, *, input_fd: int, wake_fd: int) -> bool:
    """Move samples until `input_fd` ends or `wake_fd` is readable; return true if the last pass had no error."""
    with contextlib.closing(Intake(folder)) as intake:
        while True:
            intake.ingest()
            ready, _, _ = select.select([input_fd, wake_fd], [], [], PERIOD_S)
            if wake_fd in ready or (input_fd in ready and not os.read(input_fd, 4096)):
                return intake.ingest()


def _is_blank(path: Path) -> bool:
    """Tell whether the database is empty, because its creator died or the disk was full."""
    with (
        database.reporting_damage(path),
        contextlib.closing(database.connect(path, write=True)) as connection,
    ):
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        return bool(tables == 0 and application == 0)


def _log(text: str) -> None:
    # The log may be on the full disk, too.
    with contextlib.suppress(OSError):
        print(f"siar recorder: {text}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Run until the end of the input or SIGTERM; return the exit code."""
    parser = argparse.ArgumentParser(prog="recorder", description="Takes a live run's spool into its store.")
    parser.add_argument("--folder", type=Path, required=True)
    folder: Path = parser.parse_args(arguments).folder
    wake_fd, signal_fd = os.pipe()
    # Ctrl-C and a hang-up also reach the server, which ends this process in order.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: os.write(signal_fd, b"."))
    is_done = record(folder, input_fd=sys.stdin.fileno(), wake_fd=wake_fd)
    return EXIT_OK if is_done else EXIT_FAILURE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
