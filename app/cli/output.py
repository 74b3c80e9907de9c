"""Standard output and standard error of a command: a reader that has gone or a full disk is no traceback.

the reader has gone (`siar doctor | head -1`)    ends without a word, exit code 141, as SIGPIPE would have it
a full disk, a closed standard output            ends with one sentence, exit code 3
a full disk below standard error                 goes on: there is nowhere to say it
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

EXIT_UNFIT = 3
EXIT_READER_GONE = 128 + 13
"""Exit code that a shell shows for a program which SIGPIPE ended. Here the signal is ignored: it would come of each socket as well."""

_STDIN, _STDOUT, _STDERR = range(3)


class OutputLost(KeyboardInterrupt):
    """Nobody takes what is printed any more: whatever is under way ends in order, as by Ctrl-C."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror)
        self.error = error


class _Output(io.FileIO):
    """A standard stream that raises `OutputLost`, which is no `OSError`: nobody takes it for a socket's or a file's."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write some of `data`; how many bytes."""
        try:
            return super().write(data)
        except OSError as error:
            if self.fileno() == _STDERR and error.errno != errno.EPIPE:
                return memoryview(data).nbytes
            raise OutputLost(error) from None


def guarded(command: Callable[[], int]) -> int:
    """The exit code of a command that prints, or of the loss of its output, what is flushed at the end included."""
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
    """Keep a file or socket that is opened later from taking the number of a closed standard stream."""
    try:
        os.fstat(fd)
    except (
        OSError
    ):  # The lowest free number is this one. What is written to standard output then fails as before.
        opened = os.open(os.devnull, os.O_WRONLY if fd == _STDERR else os.O_RDONLY)
        os.set_inheritable(opened, True)  # noqa: FBT003 - the standard library's signature


def _opened(fd: int, before: TextIO | None) -> TextIO:
    """The stream anew; a terminal without a plus-minus sign shows a question mark."""
    encoding = "utf-8" if before is None else before.encoding
    buffered = io.BufferedWriter(_Output(fd, "w", closefd=False))
    is_by_line = fd == _STDERR or (before is not None and bool(before.line_buffering))
    return io.TextIOWrapper(buffered, encoding=encoding, errors="replace", line_buffering=is_by_line)


def _end(error: OSError) -> int:
    is_gone = error.errno == errno.EPIPE
    if not is_gone:
        print(f"siar: Standard output cannot be written: {error.strerror}.", file=sys.stderr)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for fd in (_STDOUT, _STDERR):  # Where Python flushes to at its end.
        os.dup2(nowhere, fd)
    return EXIT_READER_GONE if is_gone else EXIT_UNFIT
