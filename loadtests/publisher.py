"""Publisher for Locust by itself: one notification at each due time of a fixed schedule.

It is an open model: if the server answers slowly, the next notification is due nevertheless, and its delay counts from
the due time.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import Any

import gevent
import requests

from loadtests.server_clock import ServerClock

TIMEOUT_S = 30.0


def publish(
    host: str, token: str, rate_hz: float, clock: ServerClock | None, on_refused: Callable[[], None]
) -> None:
    """Publish until killed, or until the server refuses the token, which is logged and reported to `on_refused`."""
    begin_ns = time.monotonic_ns()
    number = 0
    with requests.Session() as session:
        session.trust_env = False
        session.verify = os.environ.get("SSL_CERT_FILE") or True  # Otherwise ignored without trust_env.
        session.headers["Authorization"] = f"Bearer {token}"
        while True:
            due_ns = begin_ns + round(number * 1_000_000_000 / rate_hz)
            gevent.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
            due_us = None if clock is None else clock.server_us(due_ns / 1000)
            if not _publish_one(session, host, number, due_us):
                on_refused()
                return
            number += 1


def _publish_one(session: requests.Session, host: str, number: int, due_us: float | None) -> bool:
    """Publish one notification; return False if the server refuses the token."""
    body: dict[str, Any] = {"title": "Siar load", "body": f"Number {number}."}
    if due_us is not None:
        body["due_us"] = int(due_us)
    try:
        response = session.post(f"{host}/api/notifications", json=body, timeout=TIMEOUT_S)
        if response.status_code == 400 and "due_us" in body:
            # A small clock error puts the due time into the server's future. Without it the delay counts from sending.
            del body["due_us"]
            response = session.post(f"{host}/api/notifications", json=body, timeout=TIMEOUT_S)
    except OSError as error:
        logging.getLogger("siar").warning("A notification could not be published: %s", error)
        return True
    if response.status_code in (401, 403):
        logging.getLogger("siar").error("The server does not take this operator token; nothing is published.")
        return False
    return True
