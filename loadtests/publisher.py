"""A publisher for Locust by itself: one notification at each due time, on a schedule that is fixed beforehand.

An open model: when the server is slow to answer, the next one is due all the same, and its delay counts from then.
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
    """Publish until killed, or until the server refuses the token: then say so and call `on_refused`."""
    begin_ns = time.monotonic_ns()
    number = 0
    with requests.Session() as session:
        session.trust_env = False
        session.verify = os.environ.get("SSL_CERT_FILE") or True  # trust_env would have looked at it too.
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
    """One notification; whether it makes sense to go on."""
    body: dict[str, Any] = {"title": "Siar load", "body": f"Number {number}."}
    if due_us is not None:
        body["due_us"] = int(due_us)
    try:
        response = session.post(f"{host}/api/notifications", json=body, timeout=TIMEOUT_S)
        if response.status_code == 400 and "due_us" in body:
            # By this clock it is due in the server's future: a little wrong is enough. It counts from its sending then.
            del body["due_us"]
            response = session.post(f"{host}/api/notifications", json=body, timeout=TIMEOUT_S)
    except OSError as error:
        logging.getLogger("siar").warning("A notification could not be published: %s", error)
        return True
    if response.status_code in (401, 403):
        logging.getLogger("siar").error("The server does not take this operator token; nothing is published.")
        return False
    return True
