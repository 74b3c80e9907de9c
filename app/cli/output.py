"""Guarded standard output and standard error: a closed pipe or a full disk must not print a traceback.

the reader has closed the pipe (`siar doctor | head -1`)    ends silently, exit code 141, as with SIGPIPE
a full disk, a closed standard output                       ends with one sentence, exit code 3
a full disk below standard error                            continues: there is nowhere to report it
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from app.core.exit_codes import EXIT_READER_GONE, EXIT_UNFIT

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STDIN, _STDOUT, _STDERR = range(3)


class OutputLost(KeyboardInterrupt):
    """Standard output can no longer be written. The command is ended in an orderly way, as by Ctrl-C."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror)
        self.error = error


class _Output(io.FileIO):
    """A standard stream that raises `OutputLost`.

    As that is no `OSError`, no handler takes it for a socket's or a file's error.
    """

    def write(self, data: ReadableBuffer, /) -> int:
        """Write some of `data`. Returns the number of bytes."""
        try:
            return super().write(data)
        except OSError as error:
            if self.fileno() == _STDERR and error.errno != errno.EPIPE:
                return memoryview(data).nbytes
            raise OutputLost(error) from None


def guarded(command: Callable[[], int]) -> int:
    """Run a command that prints, and flush. Returns its exit code, or the code for lost output."""
    for fd in (_STDIN, _STDOUT, _STDERR):
        _fill(fd)
    sys.stdout, sys.stderr = _opened(_STDOUT, sys.stdout), _opened(_STDERR, sys.stderr)
    try:
        code = command()
        sys.stdout.flush()
        sys.stderr.flush()
        return code
    except OutputLost as lost:
        return _end(lost.error)


def _fill(fd: int) -> None:
    """Occupy the number of a closed standard stream, so that no file or socket opened later gets it."""
    try:
        os.fstat(fd)
    except (
        OSError
    ):  # `open` returns the lowest free number. Writing to standard output then fails, as it did when closed.
        opened = os.open(os.devnull, os.O_WRONLY if fd == _STDERR else os.O_RDONLY)
        os.set_inheritable(opened, True)  # noqa: FBT003 - the standard library's signature


def _opened(fd: int, before: TextIO | None) -> TextIO:
    """Open the stream again; characters that the terminal's encoding lacks are printed as question marks."""
    encoding = "utf-8" if before is None else before.encoding
    buffered = io.BufferedWriter(_Output(fd, "w", closefd=False))
    is_by_line = fd == _STDERR or (before is not None and bool(before.line_buffering))
    return io.TextIOWrapper(buffered, encoding=encoding, errors="replace", line_buffering=is_by_line)


def _end(error: OSError) -> int:
    is_gone = error.errno == errno.EPIPE
    if not is_gone:
        print(f"siar: Standard output cannot be written: {error.strerror}.", file=sys.stderr)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for fd in (_STDOUT, _STDERR):  # Python flushes them at exit.
        os.dup2(nowhere, fd)
    return EXIT_READER_GONE if is_gone else EXIT_UNFIT
