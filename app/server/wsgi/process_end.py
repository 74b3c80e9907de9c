"""To sleep until a process ends, without looking again and again."""

from __future__ import annotations

import os
import select
from collections.abc import Sequence


def wait_for_end(pids: Sequence[int], bell_fd: int, *, timeout_s: float | None, look_s: float) -> None:
    """Sleep until one of `pids` has ended, `bell_fd` can be read, or the time is over; `None`: there is no such time.

    Only Linux tells (pidfd_open(2)). Elsewhere, and without a descriptor left, it sleeps for `look_s` at most.
    """
    poll = select.poll()
    poll.register(bell_fd, select.POLLIN)
    handles: list[int] = []
    try:
        for pid in pids:
            handles.append(os.pidfd_open(pid))
            poll.register(handles[-1], select.POLLIN)
    except ProcessLookupError:
        timeout_s = 0.0  # It has ended, and somebody has taken its exit code.
    except (AttributeError, OSError):
        timeout_s = look_s if timeout_s is None else min(look_s, timeout_s)
    try:
        poll.poll(None if timeout_s is None else timeout_s * 1000)
    finally:
        for handle in handles:
            os.close(handle)
