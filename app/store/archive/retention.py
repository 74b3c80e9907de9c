"""How long what phones said is kept: by default 30 days, then live runs go into the trash and names are deleted.

Experiments stay, under the participants' pseudonyms: deleting measurements is somebody's decision, the operator's
(`./siar runs prune`) or a participant's of what is its own, for which the pseudonym's device is kept (`names.py`).
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
"""Behind the server's start: its worker comes first."""

PERIOD_S = 24 * 3600.0

NOT_LOOKED_THROUGH = "Old runs could not be looked through"


@dataclass(frozen=True, slots=True)
class Swept:
    """What was done."""

    thrown: tuple[str, ...] = ()
    """Runs that went into the trash."""
    nameless: tuple[str, ...] = ()
    """Experiments whose participants' names were deleted."""
    purged: tuple[str, ...] = ()
    """Runs that had been in the trash for a week, and are gone."""


def sweep(runs_dir: Path, *, days: float, keep: str = "") -> Swept:
    """Do what is due; the run `keep`, which this server writes, is left alone."""
    trash = Trash(runs_dir)
    # First of all, so that what is thrown now can be brought back, whatever a clock that is wrong says of its age.
    purged = trash.purge()
    thrown, nameless = [], []
    for run in old_runs(runs_dir, days=days):
        if run == keep:
            continue
        with contextlib.suppress(SiarError, OSError):  # Somebody has it open or moved it: tomorrow.
            if run.startswith(LIVE_PREFIX):
                trash.throw(run)
                thrown.append(run)
            elif drop_names(runs_dir / run):
                nameless.append(run)
    return Swept(tuple(thrown), tuple(nameless), tuple(purged))


def old_runs(runs_dir: Path, *, days: float) -> list[str]:
    """Runs to which nothing was written for that long, oldest id first."""
    if not runs_dir.is_dir():
        return []
    return sorted(name for name in own_runs(runs_dir) if _is_old(runs_dir / name, days))


def every_day(start: Callable[[], object], *, warn: Callable[[str], None]) -> None:
    """Have a sweep started soon and once a day, by a thread that ends with the process; `start` may raise `OSError`.

    The thread does nothing but that: it is the server's master that has time for it, and one that held a lock, such as
    SQLite's, in the moment a worker is forked would leave that worker waiting for ever.
    """

    def again_and_again() -> None:
        pause_s = FIRST_S
        while not threading.Event().wait(pause_s):
            pause_s = PERIOD_S
            try:
                start()
            except OSError as error:
                warn(f"{NOT_LOOKED_THROUGH}: {error.strerror}.")

    threading.Thread(target=again_and_again, name="siar-retention", daemon=True).start()


def _is_old(folder: Path, days: float) -> bool:
    try:
        return age_s(folder) > days * DAY_S
    except OSError:
        return False
