"""Locust by itself with a token that the server does not take: it ends, and not with 0."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.server import ROOT, running_server

pytestmark = pytest.mark.slow


def test_a_wrong_token_ends_a_run_with_an_error(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0) as server:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "locust", "-f", str(ROOT / "loadtests/locustfile.py"), "SseUser"),
                *("--headless", "-u", "1", "-t", "50s", "--host", server.url, "--only-summary"),
                *("--publish-rate", "5", "--operator-token", "wrong"),
            ],
            capture_output=True,
            text=True,
            timeout=40,
            cwd=tmp_path,
        )

    assert done.returncode == 2, done.stderr
    assert "does not take this operator token" in done.stderr
