"""A server whose folder is on a small disk: a tmpfs in a mount namespace, which ends with the server.

The kernel itself then reports full or read-only, even to root, and no other process sees the disk.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.components import without
from tests.support.server import GUNICORN, RunningServer

LAUNCHER = """
import ctypes, os, subprocess, sys
folder, options = sys.argv[1:3]
NEW_MOUNTS = 0x00020000  # linux/sched.h, CLONE_NEWNS
if ctypes.CDLL(None, use_errno=True).unshare(NEW_MOUNTS):
    raise OSError(ctypes.get_errno(), "unshare")
subprocess.run(["mount", "--make-rprivate", "/"], check=True)
subprocess.run(["mount", "-t", "tmpfs", "-o", options, "siar", folder], check=True)
os.execv(sys.executable, [sys.executable, "-P", *sys.argv[3:]])
"""


def require() -> None:
    """Skip the test if this user may not mount in a namespace, or tools are missing."""
    has_tools = all(shutil.which(name) for name in ("mount", "nsenter", "unshare"))
    if not has_tools or os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"]).returncode:
        without("needs root and util-linux, for a disk of its own in a mount namespace")


def on_small_disk(folder: Path, *, options: str) -> tuple[str, ...]:
    """Return the command of a server whose `folder` is such a disk; `options` are mount's."""
    folder.mkdir(exist_ok=True)
    return ("-c", LAUNCHER, str(folder), options, *GUNICORN)


def seen_by(server: RunningServer, path: Path) -> Path:
    """Return `path` as the server sees it."""
    return Path(f"/proc/{server.process.pid}/root{path}")


def run_inside(server: RunningServer, source: str, *arguments: str) -> str:
    """Run a Python program in the server's mount namespace and return its output.

    SQLite follows no path from outside.
    """
    inside = ("nsenter", f"--mount=/proc/{server.process.pid}/ns/mnt")
    done = subprocess.run([*inside, sys.executable, "-c", source, *arguments], capture_output=True, text=True)
    return done.stdout


def fill(folder: Path) -> Path:
    """Fill the disk with a file and return it; delete it to make room."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    return filler
