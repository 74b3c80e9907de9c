"""Several processes of one server: what one alone knows is refused in words, whoever of them is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app.server.broker.memory import MemoryBroker
from app.server.factory import create_app
from app.settings import Settings

OPERATOR = {"Authorization": "Bearer t"}


@pytest.fixture
def client(tmp_path: Path) -> FlaskClient:
    settings = Settings(admin_token="t", runs_dir=tmp_path, workers=2, broker="redis://localhost:1")
    broker = MemoryBroker(count_max=10, bytes_max=10**6, age_max_us=10**12)
    return create_app(settings, broker=broker).test_client()


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/api/devices"), ("DELETE", "/api/devices/d-1"), ("GET", "/api/room"), ("GET", "/api/runs")],
)
def test_what_one_process_alone_knows_is_refused(client: FlaskClient, method: str, path: str) -> None:
    """A table of a half of the connections would look whole, and who hangs on the other half could not be cut off."""
    answer = client.open(path, method=method, headers=OPERATOR)

    assert (answer.status_code, answer.get_json()["code"]) == (409, "one_process_only")


@pytest.mark.parametrize(("method", "path"), [("POST", "/api/devices"), ("GET", "/api/notifications")])
def test_what_a_phone_asks_of_any_process_stays(client: FlaskClient, method: str, path: str) -> None:
    answer = client.open(path, method=method, json={} if method == "POST" else None)

    assert answer.status_code < 300
