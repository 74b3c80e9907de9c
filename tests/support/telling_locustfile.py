"""An additional locustfile that writes Locust's events as lines of JSON to the file named by `TOLD`.

Locust's own pages and tables lag by a second or more; this shows a test each event when it happens.
"""

from __future__ import annotations

import json
import os
from typing import Any

from locust import events

_file = open(os.environ["TOLD"], "a", encoding="utf-8", buffering=1)  # noqa: SIM115 - open as long as Locust runs


def _write_event(*, request_type: str, name: str, exception: object = None, **_more: Any) -> None:
    _file.write(json.dumps([request_type, name, exception is not None]) + "\n")


events.request.add_listener(_write_event)  # type: ignore[no-untyped-call]
