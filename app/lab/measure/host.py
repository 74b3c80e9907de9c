"""Conditions of a run: host, versions and settings, for judging its figures and which runs may be compared.

A value that cannot be determined is `None`, never a guess. No value names a person, a user or a path.
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
"""Packages whose version can change a figure."""

_CPU0 = Path("/sys/devices/system/cpu/cpu0/cpufreq")
_CLOCKSOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


def conditions(*, settings: Mapping[str, object], server: Mapping[str, object]) -> dict[str, object]:
    """Return the conditions at the start of a run. `settings`: those in force; `server`: its description of itself."""
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
        # A broker's URL may contain a password, and the conditions are shown to readers.
        "settings": {
            name: without_password(value) if isinstance(value, str) else value
            for name, value in settings.items()
        },
        "server": dict(server),
    }


def load_average() -> list[float] | None:
    """Return the mean number of runnable processes over 1, 5 and 15 minutes; `None` where the platform has none."""
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
    """Return the output of a git command in the checkout; `None` without git or outside a repository."""
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _git_changed() -> bool | None:
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return None if changed is None else bool(changed)
