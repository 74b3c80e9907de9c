"""LineReader out of a pipe that a loop watches."""

from __future__ import annotations

import os
from collections.abc import Callable

LINE_BYTES_MAX = 4 * 1024 * 1024
"""A command that names a thousand clients with their topics; beyond it the pipe counts as ended."""


class LineReader:
    """Calls `on_line` with each line, without its end."""

    def __init__(self, file_descriptor: int, on_line: Callable[[bytes], None]) -> None:
        self.ended = False
        self._fd = file_descriptor
        self._on_line = on_line
        self._buffer = bytearray()
        os.set_blocking(file_descriptor, False)

    def read(self) -> None:
        """Take what is there, and hand over the lines that it completes."""
        try:
            data = os.read(self._fd, 65_536)
        except BlockingIOError:
            return
        self._buffer += data
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer = bytearray(rest)
        self.ended = not data or len(rest) > LINE_BYTES_MAX
        for line in lines:
            self._on_line(line)
