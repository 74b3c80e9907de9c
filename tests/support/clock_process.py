"""A clock process for a test, and a probe of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from app import clock
from app.core.clocksync.sync import Probe
from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
ANCHOR_US = 1_790_000_000_000_000
TIMEBASE = "0123456789abcdef"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@dataclass
class ClockProcess:
    process: subprocess.Popen[bytes]
    port: int

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/"

    def connect(self, **options: Any) -> ClientConnection:
        client: ClientConnection = connect(self.url, compression=None, **options)
        return client

    def end(self) -> bytes:
        """Close its standard input, as a dying parent does. Returns what it has written to standard error."""
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        return errors


def start(*options: str) -> ClockProcess:
    command = [sys.executable, "-P", "-m", "app.server.clock_process", "--host", "127.0.0.1", "--port", "0"]
    command += ["--anchor-us", str(ANCHOR_US), "--timebase", TIMEBASE, *options]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    )
    assert process.stdout is not None
    return ClockProcess(process, json.loads(process.stdout.readline())["port"])


def ask(client: ClientConnection, number: int) -> tuple[Probe, dict[str, Any]]:
    """Send one probe, stamped with the monotonic clock. Returns it with the raw answer."""
    t1_us = clock.monotonic_us()
    client.send(json.dumps({"probe": number}))
    text = client.recv(timeout=PATIENCE_S)
    t4_us = clock.monotonic_us()
    answer = json.loads(text)
    return Probe(t1_us, answer["received_us"], answer["sent_us"], t4_us), answer
