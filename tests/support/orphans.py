"""None are left: what a test starts ends with the tests, also when these are killed and clean up nothing."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
"""`linux/prctl.h`."""


def end_with_us() -> Callable[[], None] | None:
    """A `preexec_fn`: a SIGTERM for the program when the thread that starts it has ended (Linux).

    For `serve` and for servers that are not ours. To hand `serve` the pipe by which our gunicorn notices it
    (`SIAR_PARENT_PIPE_FD`) would tell it that it is no service of its own: it would leave old runs alone.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def ask_the_kernel() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # They were killed between fork and prctl.
            os.kill(os.getpid(), signal.SIGTERM)

    return ask_the_kernel
