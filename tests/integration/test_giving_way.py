"""One publisher that goes on and on, over one connection, holds nobody else up for long."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fanouts import FANOUTS, fanout_settings
from tests.support.server import ADMIN_TOKEN, GUNICORN, ROOT, RunningServer, running_server
from tests.support.streams import sse

SLOW_LOOK = (*GUNICORN[:-1], "tests.support.slow_look:app")

PUBLISHER = """
import sys, time
from app.tools.bench.publisher import Publisher
publisher = Publisher("127.0.0.1", int(sys.argv[1]), sys.argv[2])
publisher.publish()
print("publishing", flush=True)
while True:
    time.sleep(0.0005)  # Behind the look, and long before the reading.
    publisher.publish()
"""


@contextlib.contextmanager
def publishing(server: RunningServer) -> Iterator[None]:
    """One request after the other, in a process of its own."""
    command = [sys.executable, "-c", PUBLISHER, str(server.port), ADMIN_TOKEN]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "publishing\n"
            yield
            assert process.poll() is None, "it was refused"
        finally:
            process.kill()


@pytest.mark.parametrize("fanout", FANOUTS)
def test_a_publisher_that_goes_on_and_on_does_not_hold_up_others(tmp_path: Path, fanout: str) -> None:
    """Its next request comes between the look at its socket and the reading: it is never made to wait."""
    settings = fanout_settings(fanout) | {"publish_per_s_max": 1_000_000}
    with (
        running_server(tmp_path, command=SLOW_LOOK, **settings) as server,
        sse(server.port) as reader,
        publishing(server),
    ):
        offsets = [reader.next_notification()["offset"] for _ in range(20)]
        answers = [server.request("GET", "/healthz")[0] for _ in range(20)]

    assert offsets == list(range(1, 21))
    assert answers == [200] * 20
