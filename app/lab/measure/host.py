"""The conditions of a run: what a reader needs to judge its figures, and to know which runs may be compared.

What cannot be found out is `None`, never a guess. Nothing here names a person, a user or a path.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import psutil

from app.core.broker_url import without_password
from app.lab.measure.cpu import usable_cores
from app.paths import ROOT

PACKAGES = (
    *("flask", "flask-socketio", "python-socketio", "python-engineio", "simple-websocket", "werkzeug"),
    *("eventlet", "greenlet", "gunicorn", "psutil", "numpy", "locust", "gevent", "rich"),
)
"""Those whose version can change a figure."""

_CPU0 = Path("/sys/devices/system/cpu/cpu0/cpufreq")
_CLOCKSOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


def conditions(*, settings: Mapping[str, object], server: Mapping[str, object]) -> dict[str, object]:
    """Conditions at the start of a run. `settings`: what was set; `server`: what it says of itself."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "packages": {name: _package_version(name) for name in PACKAGES},
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpu_model": _cpu_model(),
        "cores": psutil.cpu_count(),
        "usable_cores": usable_cores(),
        "governor": _line_of(_CPU0 / "scaling_governor"),
        "clocksource": _line_of(_CLOCKSOURCE),
        "memory_bytes": psutil.virtual_memory().total,
        "booted": datetime.fromtimestamp(psutil.boot_time(), UTC).isoformat(timespec="seconds"),
        "load_average_start": load_average(),
        "git_commit": _git("rev-parse", "HEAD"),
        "git_changed": _git_changed(),
        "browser": None,
        # A broker's URL may hold a password, and what is written here is also shown.
        "settings": {
            name: without_password(value) if isinstance(value, str) else value
            for name, value in settings.items()
        },
        "server": dict(server),
    }


def load_average() -> list[float] | None:
    """Runnable processes over 1, 5 and 15 minutes."""
    return [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None


def _package_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu_model() -> str | None:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith(("model name", "Hardware", "Model")):
                return line.partition(":")[2].strip()
    return platform.processor() or None


def _line_of(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return None


def _git(*arguments: str) -> str | None:
    """What git says of the checkout; `None` without git or outside of one."""
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _git_changed() -> bool | None:
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return None if changed is None else bool(changed)
