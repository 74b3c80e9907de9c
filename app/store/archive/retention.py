"""Retention of phones' data: after 30 days by default, live runs go to the trash and participants' names are deleted.

Experiments are kept under pseudonyms. Only people delete measurements: the operator (`./siar runs prune`), or a
participant who deletes its own data, for which the pseudonym's device is kept (`names.py`).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import SiarError
from app.store.archive.folders import LIVE_PREFIX, own_runs
from app.store.archive.names import drop_names
from app.store.archive.trash import DAY_S, Trash, age_s

FIRST_S = 2.0
"""Time from the server's start to the first sweep, so that the worker starts first."""

PERIOD_S = 24 * 3600.0

NOT_LOOKED_THROUGH = "Old runs could not be looked through"


@dataclass(frozen=True, slots=True)
class Swept:
    """Result of a sweep, as run ids."""

    trashed: tuple[str, ...] = ()
    """Live runs that were moved to the trash."""
    nameless: tuple[str, ...] = ()
    """Experiments whose participants' names were deleted."""
    purged: tuple[str, ...] = ()
    """Runs that were deleted for good after a week in the trash."""


def sweep(runs_dir: Path, *, days: float, keep: str = "") -> Swept:
    """Apply the retention rules once, except to the run `keep`, which this server is writing."""
    trash = Trash(runs_dir)
    # The purge is first, so that what is trashed now can be restored even if a wrong clock makes it seem old.
    purged = trash.purge()
    trashed, nameless = [], []
    for run in old_runs(runs_dir, days=days):
        if run == keep:
            continue
        with contextlib.suppress(SiarError, OSError):  # It is open or was moved; the next sweep tries again.
            if run.startswith(LIVE_PREFIX):
                trash.add(run)
                trashed.append(run)
            elif drop_names(runs_dir / run):
                nameless.append(run)
    return Swept(tuple(trashed), tuple(nameless), tuple(purged))


def old_runs(runs_dir: Path, *, days: float) -> list[str]:
    """List the runs to which nothing was written for `days`, oldest id first."""
    if not runs_dir.is_dir():
        return []
    return sorted(name for name in own_runs(runs_dir) if _is_old(runs_dir / name, days))


def every_day(start: Callable[[], object], *, warn: Callable[[str], None]) -> None:
    """Start a daemon thread that calls `start` soon and then once a day; `start` may raise `OSError`.

    The thread runs in the server's master and must do nothing else. If it held a lock, such as SQLite's, while a worker
    is forked, that worker would wait for ever.
    """

    def start_repeatedly() -> None:
        pause_s = FIRST_S
        while not threading.Event().wait(pause_s):
            pause_s = PERIOD_S
            try:
                start()
            except OSError as error:
                warn(f"{NOT_LOOKED_THROUGH}: {error.strerror}.")

    threading.Thread(target=start_repeatedly, name="siar-retention", daemon=True).start()


def _is_old(folder: Path, days: float) -> bool:
    try:
        return age_s(folder) > days * DAY_S
    except OSError:
        return False
