"""What strangers send at the edges of the server: nothing of it fails, runs, or goes further than it should."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app.factory import create_app
from app.settings import Settings
from app.web.deliveries import ConductDevice


@pytest.fixture
def client(tmp_path: Path) -> FlaskClient:
    return create_app(Settings(admin_token="t", runs_dir=tmp_path)).test_client()


@pytest.mark.parametrize(
    "name", ["a%00b.js", "..%2f..%2fapp%2fcli.py.js", "%2fetc%2fpasswd.json", "a" * 300 + ".css"]
)
@pytest.mark.parametrize("folder", ["js", "css", "i18n"])
def test_a_file_that_cannot_be_is_a_404(client: FlaskClient, folder: str, name: str) -> None:
    answer = client.get(f"/static/{folder}/{name}")

    assert answer.status_code == 404
    assert answer.content_type == "application/problem+json"


@pytest.mark.parametrize(("scheme", "is_secure"), [("http", False), ("https", True)])
def test_what_proves_a_device_over_https_is_not_sent_over_http(
    client: FlaskClient, scheme: str, is_secure: bool
) -> None:
    answer = client.post("/api/devices", json={}, base_url=f"{scheme}://127.0.0.1/")

    assert ("Secure" in answer.headers["Set-Cookie"].split("; ")) is is_secure


def test_a_cookie_of_somebody_else_that_is_no_utf8_keeps_nobody_from_the_stream(tmp_path: Path) -> None:
    """Cookies know no ports: a browser sends what any other service of the same host has set, and asks for gzip."""
    app = create_app(Settings(admin_token="t", runs_dir=tmp_path))
    client = app.test_client(use_cookies=False)

    answer = client.get(
        "/events", headers={"Accept-Encoding": "gzip", "Cookie": "theirs=caf\xe9"}, buffered=False
    )

    assert answer.status_code == 200
    answer.close()


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/", "code=caf\xe9", 200),
        ("/", "\xff", 200),
        ("/nowhere", "\xff", 404),
        ("/events", "topic=caf\xe9", 400),
        ("/api/room", "run=\xc3\xa9", 401),
    ],
)
def test_bytes_in_a_query_that_nobody_escaped_are_taken_as_if_somebody_had(
    client: FlaskClient, path: str, query: str, status: int
) -> None:
    """Flask raises for what is no UTF-8, in error pages too; not every server refuses it, as gunicorn does."""
    answer = client.get(path, environ_overrides={"QUERY_STRING": query})

    assert answer.status_code == status


def test_what_a_phone_calls_itself_is_cleaned_before_it_is_written_down() -> None:
    device = ConductDevice(
        secure_context=True,
        wake_lock=True,
        timer_step_us=5.0,
        model="Pixel\u202e 7\x1b[31m",
        browser="\u200e\x07",
    )

    assert (device.model, device.browser) == ("Pixel 7[31m", None)
