"""LineReader out of a pipe that a loop watches."""

from __future__ import annotations

import os
from collections.abc import Callable

LINE_BYTES_MAX = 4 * 1024 * 1024
"""Longest command, enough for a thousand clients with topics; the reader ends at a longer one."""


class LineReader:
    """Reads lines from a non-blocking pipe and calls `on_line` with each, without its line feed."""

    def __init__(self, file_descriptor: int, on_line: Callable[[bytes], None]) -> None:
        self.ended = False
        self._fd = file_descriptor
        self._on_line = on_line
        self._buffer = bytearray()
        os.set_blocking(file_descriptor, False)

    def read(self) -> None:
        """Read what is available and pass on complete lines."""
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
