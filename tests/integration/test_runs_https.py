"""Runs that the operator starts on a server that speaks TLS: built-in clients, and their clock, go over it too."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.encrypted import Encrypted, serving

pytestmark = [pytest.mark.alone, pytest.mark.nightly]

WAIT_S = 120

SHORT = {
    "arms": ["sse", "socketio"],
    "client_counts": [2],
    "blocks": 1,
    "notifications": 20,
    "warmup_notifications": 2,
    "rate_hz": 50,
    "idle_s": 0.1,
    "settle_s": 0.05,
    "extra_blocks_max": 0,
}


def ended(server: Encrypted, run: str) -> dict[str, Any]:
    """The run once its runner has ended."""
    deadline_s = time.monotonic() + WAIT_S
    while (found := server.request("GET", f"/api/runs/{run}")[1])["runner"]["state"] != "ended":
        assert time.monotonic() < deadline_s, found
        time.sleep(0.05)
    return dict(found)


@pytest.mark.parametrize(("way", "trust"), [("self", "runs/.tls/self.pem"), ("ca", "runs/.tls/ca.pem")])
def test_built_in_clients_measure_a_server_over_tls_and_lose_nothing(
    tmp_path: Path, way: str, trust: str
) -> None:
    with serving(tmp_path, "--https", way, trust=trust) as server:
        status, answer = server.request("POST", "/api/runs", {"plan": SHORT, "clients": "built-in"})
        assert status == 202, answer
        found = ended(server, answer["run"])

    assert found["runner"]["exit_code"] == 0, found["runner"]["last_words"]
    assert (found["state"], found["simulated"]) == ("complete", True)
    result = json.loads((tmp_path / "runs" / answer["run"] / "result.json").read_text())
    assert {trial["transport"] for trial in result["trials"]} == {"sse", "socketio"}
    for trial in result["trials"]:
        assert (trial["delivered"], trial["lost"], trial["duplicates"]) == (trial["expected"], 0, 0)
        assert trial["clock_bound_ms"] is not None, "the clock's channel was reached over TLS"
    assert result["conditions"]["clock_channel"] == "websocket"
    assert "Traceback" not in server.log.read_text()
