"""Files that are written whole or not at all: a draft next to the target, then a rename."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from app.core.errors import StoreError


def write_atomically(path: Path, write: Callable[[TextIO], object]) -> None:
    """Write a text file, so that readers see either the old content or the new.

    A draft in the same folder is renamed to `path`; after a failure the draft is removed. A symbolic link is followed. A target
    that is no regular file (`/dev/stdout`, a pipe) is written in place. Raises `StoreError` when the file cannot be written.
    """

    def write_text(target: Path) -> None:
        with target.open("w", encoding="utf-8", newline="") as file:
            write(file)

    replace_atomically(path, write_text)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a binary file as `write_atomically` does."""
    replace_atomically(path, lambda target: target.write_bytes(data))


def replace_atomically(path: Path, make: Callable[[Path], object]) -> None:
    """Let `make` write a file at a draft's path, then rename the draft to `path`, as `write_atomically` does."""
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            make(target)
            return
        draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
        try:
            make(draft)
            draft.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from error
