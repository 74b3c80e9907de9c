"""A server whose folder lies on a small disk of its own: a tmpfs in a mount namespace, gone with the server.

Full and read-only are then what the kernel says, also to root, and no other process of this machine sees the disk.
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
    """End the test where this user may not mount in a namespace, or has no tools for it."""
    has_tools = all(shutil.which(name) for name in ("mount", "nsenter", "unshare"))
    if not has_tools or os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"]).returncode:
        without("needs root and util-linux, for a disk of its own in a mount namespace")


def on_small_disk(folder: Path, *, options: str) -> tuple[str, ...]:
    """The command of a server for which `folder` is such a disk; `options` are mount's."""
    folder.mkdir(exist_ok=True)
    return ("-c", LAUNCHER, str(folder), options, *GUNICORN)


def seen_by(server: RunningServer, path: Path) -> Path:
    """`path` as the server sees it."""
    return Path(f"/proc/{server.process.pid}/root{path}")


def run_inside(server: RunningServer, source: str, *arguments: str) -> str:
    """What a Python program says that sees the disks which the server sees; SQLite follows no path from outside."""
    inside = ("nsenter", f"--mount=/proc/{server.process.pid}/ns/mnt")
    done = subprocess.run([*inside, sys.executable, "-c", source, *arguments], capture_output=True, text=True)
    return done.stdout


def fill(folder: Path) -> Path:
    """A file that takes what is left of the disk; delete it to make room."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    return filler
