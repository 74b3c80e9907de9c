"""A real `serve` over TLS, and clients for it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.orphans import end_with_us
from tests.support.patience import PATIENCE_S
from tests.support.server import ROOT, stop


@dataclass(frozen=True, slots=True)
class Encrypted:
    """A server that answers over TLS."""

    port: int
    trust: ssl.SSLContext
    log: Path
    folder: Path

    def ask(self, path: str, host: str = "127.0.0.1") -> tuple[http.client.HTTPResponse, bytes]:
        """Send a GET. Returns the response and its body."""
        link = http.client.HTTPSConnection(host, self.port, timeout=PATIENCE_S, context=self.trust)
        with contextlib.closing(link):
            link.request("GET", path)
            answer = link.getresponse()
            return answer, answer.read()

    def publish(self, title: str) -> None:
        """Publish as the operator."""
        assert self.request("POST", "/api/notifications", {"title": title, "body": ""})[0] == 201

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request as the operator, whose token the terminal shows. Returns status and decoded JSON."""
        token = self.wait_for_output(r"Bearer ([\w-]+)")[1]
        link = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE_S, context=self.trust)
        with contextlib.closing(link):
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            link.request(method, path, None if body is None else json.dumps(body), headers)
            answer = link.getresponse()
            return answer.status, json.loads(answer.read())

    def wait_for_output(self, text: str) -> re.Match[str]:
        """Wait until its output matches and return the match."""
        deadline_s = time.monotonic() + PATIENCE_S
        while (found := re.search(text, self.log.read_text())) is None:
            assert time.monotonic() < deadline_s, self.log.read_text()
            time.sleep(0.05)
        return found


@contextlib.contextmanager
def serving(folder: Path, *arguments: str, trust: str) -> Iterator[Encrypted]:
    """Run `serve` with these arguments; yields when it is ready. `trust`: the CA file, in `folder`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SIAR_", "LC_"))}
    log = folder / "serve.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "app", "serve", "--port", "0", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd=folder,
            env={**environment, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
            preexec_fn=end_with_us(),  # noqa: PLW1509 - two system calls, no lock, no import
        )
    try:
        plain = Encrypted(0, ssl.create_default_context(), log, folder)
        port = int(plain.wait_for_output(r"https://127\.0\.0\.1:(\d+)/")[1])
        server = Encrypted(port, ssl.create_default_context(cafile=folder / trust), log, folder)
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(OSError):
                if server.ask("/readyz")[0].status == 200:
                    break
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline_s, log.read_text()
            time.sleep(0.05)
        yield server
    finally:
        stop(process)
