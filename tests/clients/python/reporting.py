"""Reports of a client program: a line of JSON on stdout for each event, read by programs.py."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

_LOCK = threading.Lock()


def report(kind: str, **members: Any) -> None:
    """One line, whole also where a library calls from several threads."""
    with _LOCK:
        print(json.dumps({"kind": kind, **members}), flush=True)


def report_event(event: str, data: str) -> None:
    """An event of the stream, if it is one that a subscriber handles."""
    if event in ("notification", "gap"):
        report(event, **json.loads(data))


def resume_for_ever(
    read: Callable[[str, dict[str, str]], None], errors: tuple[type[Exception], ...]
) -> NoReturn:
    """For a library that reads one stream and ends with it: again, with what it had last in `Last-Event-ID`.

    `read` keeps the position in the headers that it is given.
    """
    headers = {"Accept": "text/event-stream"}
    while True:
        try:
            read(f"{sys.argv[1]}/events", headers)
            report("error", message="the stream ended")
        except errors as error:
            report("error", message=repr(error))
        time.sleep(random.uniform(0.1, 0.5))
