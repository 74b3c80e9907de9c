"""Detection of io_uring on this kernel, independent of the product's own check."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import sys

import pytest

_SYS_IO_URING_SETUP = 425


def _is_offered() -> bool:
    if sys.platform != "linux":
        return False
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    if version is None or (int(version[1]), int(version[2])) < (5, 18):
        return False
    params = (ctypes.c_uint32 * 30)()
    fd = ctypes.CDLL(None).syscall(_SYS_IO_URING_SETUP, 4, params)
    if fd < 0:
        return False
    os.close(fd)
    return True


OFFERED = _is_offered()

needs_ring = pytest.mark.skipif(not OFFERED, reason="this kernel has no io_uring, or not for us")
