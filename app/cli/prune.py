"""`./siar runs prune`: list the runs that are too old or too many; with `--yes`, move them to the trash."""

from __future__ import annotations

from pathlib import Path

from app.core.errors import Malformed, SiarError, Unfit
from app.core.exit_codes import EXIT_OK
from app.server.wsgi import server_file
from app.store.archive.sizes import (
    StoredRun,
    bytes_from_text,
    folder_bytes,
    runs_to_remove,
    size_text,
    stored_runs,
)
from app.store.archive.trash import DAY_S, KEPT_DAYS, TRASH, Trash

DAYS_MAX = 36_500


def prune(
    runs_dir: Path, *, older_than: float | None, keep: str | None, retention_days: float, wanted: bool
) -> int:
    """List the runs to remove or, if `wanted`, move them to the trash and purge what has been there for a week.

    `older_than`: days; `keep`: a size as a user writes it. Without both, `retention_days` applies.
    """
    days = _days(older_than, keep, retention_days)
    bytes_max = None if keep is None else bytes_from_text(keep)
    runs = stored_runs(runs_dir)
    to_remove = _runs_to_remove(runs, days=days, bytes_max=bytes_max, stays=_written_now(runs_dir))
    rules = " or ".join(
        [
            *([f"older than {days:g} days"] if days is not None else []),
            *([f"more than {size_text(bytes_max)} together"] if bytes_max is not None else []),
        ]
    )
    if wanted:
        return _move_to_trash(runs_dir, to_remove)
    for run in to_remove:
        print(f"{run.id}  {run.age_s / DAY_S:.0f} days  {size_text(run.size_bytes)}")
    print(
        f"{rules[0].upper()}{rules[1:]}: {len(to_remove)} of {len(runs)} runs, {_total(to_remove)} of {_total(runs)}."
        + (" --yes moves them into the trash." if to_remove else "")
    )
    return EXIT_OK


def _days(older_than: float | None, keep: str | None, retention_days: float) -> float | None:
    """Return the age in days above which a run is removed; `None` if only the total size counts."""
    if older_than is not None:
        if not 0 <= older_than <= DAYS_MAX:
            raise Malformed(f"--older-than is {older_than:g}; it must be 0 to {DAYS_MAX}.")
        return older_than
    if keep is not None:
        return None
    if not retention_days:
        raise Malformed(
            "SIAR_RETENTION_DAYS is 0, so that no run is ever too old; name --older-than DAYS or --keep SIZE."
        )
    return retention_days


def _runs_to_remove(
    runs: list[StoredRun], *, days: float | None, bytes_max: int | None, stays: str | None
) -> list[StoredRun]:
    """Return the runs that either rule removes, oldest first."""
    old = {run.id for run in runs if days is not None and run.age_s > days * DAY_S and run.id != stays}
    over = (
        set()
        if bytes_max is None
        else {run.id for run in runs_to_remove(runs, bytes_max=bytes_max, keep=stays)}
    )
    return [run for run in runs if run.id in old | over]


def _move_to_trash(runs_dir: Path, to_remove: list[StoredRun]) -> int:
    """Move the runs to the trash, and delete for good what has been there for a week. Returns the exit code."""
    trash, moved = Trash(runs_dir), 0
    for run in to_remove:
        try:
            trash.add(run.id)
        except SiarError as error:
            print(f"{run.id}  stays: {error}")
            continue
        moved += 1
        print(f"{run.id}  in the trash")
    gone = trash.purge()
    for name in gone:
        print(f"{name}  deleted for good")
    print(
        f"{moved} moved into the trash, where they can be brought back for {KEPT_DAYS} days "
        f"(siar runs restore RUN); {len(gone)} deleted for good."
    )
    held_bytes = (
        folder_bytes(runs_dir / TRASH)
        if (runs_dir / TRASH).is_dir() and not (runs_dir / TRASH).is_symlink()
        else 0
    )
    if held_bytes:
        print(f"The trash takes {size_text(held_bytes)} until then.")
    return EXIT_OK


def _total(runs: list[StoredRun]) -> str:
    return size_text(sum(run.size_bytes for run in runs))


def _written_now(runs_dir: Path) -> str | None:
    """Return the run that a server on this machine is writing to; phones post into it, however old it is."""
    try:
        return server_file.read(runs_dir).run
    except Unfit:
        return None
