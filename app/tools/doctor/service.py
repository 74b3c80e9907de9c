"""The service to check: one that already runs at the address, or one started there for the checks."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app import settings
from app.core.errors import Unfit
from app.lab.run import server_process
from app.tools.doctor import ask
from app.tools.doctor.finding import Finding, fail, ok
from app.tools.doctor.subject import Subject

HEARTBEAT_S = 1
"""Heartbeat interval of the server started for the checks; short, so that a second event comes soon."""


def runs_at(url: str) -> bool:
    """Return whether a Siar server answers at the URL."""
    return _version_at(url) is not None


def elsewhere(url: str) -> Finding:
    """Return the finding that only the service at the URL is checked: what this machine is fit for says nothing of it."""
    return ok("service", "elsewhere", url=url)


def heartbeat_s(url: str) -> float:
    """Return the heartbeat interval that the service at the URL tells; the default if it tells none, as an older one."""
    told = (_version_at(url) or {}).get("heartbeat_s")
    low, high = settings.RANGES["heartbeat_s"]
    return told if isinstance(told, int | float) and low <= told <= high else settings.Settings().heartbeat_s


def _version_at(url: str) -> dict[str, Any] | None:
    try:
        status, body = ask.get(url, "/version")
        answer = json.loads(body)
    except ask.TROUBLE:  # Invalid JSON raises `ValueError`, which is included.
        return None
    return answer if status == 200 and isinstance(answer, dict) and answer.get("name") == "siar" else None


@contextlib.contextmanager
def started(subject: Subject) -> Iterator[Finding | None]:
    """Start a server at the subject's address for the duration of the block; yields a finding if it cannot start.

    It is the real server, with a temporary folder of runs.
    """
    with tempfile.TemporaryDirectory(prefix="siar-doctor-") as folder, contextlib.ExitStack() as stack:
        trouble: Finding | None = None
        try:
            stack.enter_context(
                server_process.start(
                    runs_dir=Path(folder),
                    settings={
                        "SIAR_RECORDER": "0",
                        "SIAR_CLOCK_PORT": str(subject.clock_port),
                        "SIAR_HEARTBEAT_S": str(HEARTBEAT_S),
                    },
                    host=subject.host,
                    port=subject.port,
                )
            )
        except Unfit as unfit:
            trouble = fail("service", "no_start", reason=str(unfit))
        yield trouble
