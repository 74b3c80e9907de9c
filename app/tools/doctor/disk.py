"""Can runs be written, and is there room for them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from app.settings import environment_name
from app.tools.doctor.finding import Finding, fail, ok, warn

NAME = "disk"

FREE_BYTES_MIN = 100_000_000
"""Below it not even one run's spool fits for certain."""

FREE_BYTES_GOOD = 1_000_000_000
"""A classroom's run is about 10 MB; a hundred of them."""


def look(folder: Path) -> Finding:
    """The folder of runs, which is made when it is missing: that is how it is known that it can be."""
    setting = environment_name("runs_dir")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"Siar was here.")
        free_bytes = shutil.disk_usage(folder).free
    except OSError as error:
        return fail(NAME, "no_writing", folder=folder, reason=error.strerror, setting=setting)
    return judge(folder, free_bytes)


def judge(folder: Path, free_bytes: int) -> Finding:
    """How far what is free goes."""
    places = {
        "folder": folder,
        "free_mb": f"{free_bytes // 1_000_000:,}",
        "setting": environment_name("runs_dir"),
    }
    if free_bytes < FREE_BYTES_MIN:
        return fail(NAME, "full", **places)
    if free_bytes < FREE_BYTES_GOOD:
        return warn(NAME, "short", **places)
    return ok(NAME, "room", **places)
