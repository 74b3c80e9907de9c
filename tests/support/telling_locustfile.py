"""A locustfile beside another one: what Locust counts, each as a line of JSON in the file that `TOLD` names.

Locust's own pages and tables are a second old and more; here a test sees an event when it has happened.
"""

from __future__ import annotations

import json
import os
from typing import Any

from locust import events

_file = open(os.environ["TOLD"], "a", encoding="utf-8", buffering=1)  # noqa: SIM115 - for as long as Locust runs


def _tell(*, request_type: str, name: str, exception: object = None, **_more: Any) -> None:
    _file.write(json.dumps([request_type, name, exception is not None]) + "\n")


events.request.add_listener(_tell)  # type: ignore[no-untyped-call]
