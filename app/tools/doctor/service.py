"""A service to look at: the one that runs at the address, or else one that is started there for the look."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from app.core.errors import Unfit
from app.lab.run import server_process
from app.tools.doctor import ask
from app.tools.doctor.finding import Finding, fail
from app.tools.doctor.subject import Subject

NAME = "service"

HEARTBEAT_S = 1
"""Heartbeat interval of the server that is started for the check, so that a second event comes soon."""


def runs_at(url: str) -> bool:
    """Whether a Siar server answers there."""
    try:
        status, body = ask.get(url, "/version")
        answer = json.loads(body)
    except ask.TROUBLE:  # No JSON is a `ValueError` too.
        return False
    return status == 200 and isinstance(answer, dict) and answer.get("name") == "siar"


@contextlib.contextmanager
def started(subject: Subject) -> Iterator[Finding | None]:
    """A server at the subject's address for the length of the block, or why there is none.

    It is the real one, in a folder of its own that is removed afterwards.
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
            trouble = fail(NAME, "no_start", reason=str(unfit))
        yield trouble
