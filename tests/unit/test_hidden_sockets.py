"""Under a WSGI server that keeps its connections to itself: polling works, and a WebSocket is neither offered nor a failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.server.factory import SiarApp, create_app
from app.settings import Settings

HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.fixture
def app(tmp_path: Path) -> SiarApp:
    return create_app(Settings(runs_dir=tmp_path, recorder=False))


def test_the_upgrade_is_not_offered(app: SiarApp) -> None:
    answer = app.test_client().get("/socket.io/?EIO=4&transport=polling")

    assert json.loads(answer.get_data(as_text=True)[1:])["upgrades"] == []


def test_a_websocket_is_refused_in_words(app: SiarApp) -> None:
    answer = app.test_client().get("/socket.io/?EIO=4&transport=websocket", headers=HANDSHAKE)

    assert answer.status_code == 400
    assert "keeps its connections" in answer.get_json()["message"]


def test_the_version_says_the_path_that_serves(app: SiarApp) -> None:
    assert app.test_client().get("/version").get_json()["fanout"] == "stock"
