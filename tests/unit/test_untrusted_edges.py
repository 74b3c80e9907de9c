"""What strangers send at the edges of the server: nothing of it fails, runs, or goes further than it should."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from app.server.deliveries import COOKIE
from app.server.factory import SiarApp, create_app
from app.server.services import FORGET_BURST_OF_NETWORK
from app.server.web.devices.deliveries import ConductDevice
from app.settings import Settings
from tests.support.fuzz import effort
from tests.unit.test_publish_batch import StoppedClock

OPERATOR = {"Authorization": "Bearer t"}
STRANGER, CLASSMATE = "198.51.100.7", "198.51.100.8"

latin = st.text(st.characters(max_codepoint=255), max_size=40)
cookie_headers = st.lists(
    st.builds(
        "{}{}{}".format,
        st.sampled_from([COOKIE, "siar_operator", "theirs", "", '"', "$Version"]) | latin,
        st.sampled_from(["=", "", "=="]),
        st.sampled_from(["d-1.token", "caf\xe9.\xff", '"\\377', "\x00", "%ff.%00", "." * 500]) | latin,
    ),
    max_size=4,
).map("; ".join)


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


def test_a_foreign_cookie_that_is_not_utf8_does_not_block_the_stream(tmp_path: Path) -> None:
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
def test_unescaped_bytes_in_a_query_are_read_like_escaped_ones(
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


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> SiarApp:
    return create_app(Settings(admin_token="t", runs_dir=tmp_path_factory.mktemp("runs")))


@effort(200)
@given(
    path=st.sampled_from(["/", "/events", "/api/room/assignment", "/api/devices", "/api/runs", "/nowhere"]),
    cookies=cookie_headers,
    accepted=st.sampled_from(["gzip", "identity", "*;q=0"]),
)
def test_no_cookies_harm_anybody(hosted: SiarApp, path: str, cookies: str, accepted: str) -> None:
    """As WSGI has them: bytes, each as a character of Latin-1 (PEP 3333)."""
    answer = hosted.test_client(use_cookies=False).get(
        path,
        headers={"Accept-Encoding": accepted},
        environ_overrides={"HTTP_COOKIE": cookies},
        buffered=False,
    )
    answer.close()

    assert answer.status_code < 500


@effort(200)
@given(
    path=st.sampled_from(["/api/runs", "/api/devices", "/api/room"]),
    cookies=cookie_headers
    | st.text(alphabet=string.ascii_letters + "-_", max_size=64).map(lambda text: f"siar_operator={text}"),
)
def test_no_cookie_that_was_made_up_opens_what_is_the_operators(
    hosted: SiarApp, path: str, cookies: str
) -> None:
    answer = hosted.test_client(use_cookies=False).get(path, environ_overrides={"HTTP_COOKIE": cookies})

    assert answer.status_code in (401, 429)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("[::1]", 200),
        ("[fe80::1]:8080", 200),
        ("192.168.1.5:8080", 200),
        ("siar.local", 200),
        ("laptop.", 200),
        ("[dead]", 421),
        ("[...]", 421),
        ("[127.0.0.1]", 421),
        ("[::1].", 421),
        ("::1", 421),
        ("evil.example", 421),
    ],
)
def test_what_stands_in_brackets_is_an_ipv6_address_or_no_name_of_ours(
    client: FlaskClient, host: str, status: int
) -> None:
    answer = client.get("/healthz", headers={"Host": host})

    assert answer.status_code == status


def device_token(client: FlaskClient) -> str:
    answer = client.post("/api/devices", json={}).get_json()
    return f"{answer['device']}.{answer['token']}"


def delete(client: FlaskClient, token: str, address: str) -> TestResponse:
    return client.delete(
        "/api/deliveries",
        headers={"Authorization": f"Bearer {token}"},
        environ_overrides={"REMOTE_ADDR": address},
    )


def post(client: FlaskClient, token: str, address: str, batch: dict[str, Any]) -> TestResponse:
    return client.post(
        "/api/deliveries",
        json=batch,
        headers={"Authorization": f"Bearer {token}"},
        environ_overrides={"REMOTE_ADDR": address},
    )


def batch_of(device: str, number: int, samples: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "batch_id": f"batch-{number:04}",
        "device": device,
        "clock_channel": "websocket",
        "timebase": "t",
        "samples": samples,
    }


def sample(sent: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": sent["id"],
        "transport": "sse",
        "due_us": sent["sent_us"],
        "sent_us": sent["sent_us"],
        "received_client_us": sent["sent_us"] + 1000.0,
        "clock_offset_us": 0,
        "clock_bound_us": 1500,
        "state": "ok",
        "outcome": "on_time",
        "visible": True,
    }


def test_a_stranger_that_requests_deletion_without_end_blocks_nobody_else(tmp_path: Path) -> None:
    """Devices are free, so that its address is what counts."""
    app = create_app(Settings(admin_token="t", runs_dir=tmp_path), clock=StoppedClock())
    client = app.test_client()
    token = device_token(client)

    asked = [delete(client, token, STRANGER).status_code for _ in range(40)]
    others = [delete(client, device_token(client), CLASSMATE) for _ in range(5)]
    here = [delete(client, token, "127.0.0.1").status_code for _ in range(3)]

    assert asked == [200] * FORGET_BURST_OF_NETWORK + [429] * (40 - FORGET_BURST_OF_NETWORK)
    assert [each.status_code for each in others] == [200] * 5
    assert here == [200] * 3


@pytest.mark.parametrize(
    ("limits", "status", "code"),
    [
        ({"spool_bytes_max": 1024}, 507, "spool_full"),
        ({"spool_bytes_max": 8192}, 413, "network_full"),
        ({"spool_device_bytes_max": 1024}, 413, "device_full"),
    ],
)
def test_the_operator_sees_what_came_where_the_spool_is_full(
    tmp_path: Path, limits: dict[str, Any], status: int, code: str
) -> None:
    client = create_app(Settings(admin_token="t", runs_dir=tmp_path, **limits)).test_client()
    sent = client.post("/api/notifications", json={"title": "t", "body": "b"}, headers=OPERATOR).get_json()
    other = {**sample(sent), "id": "other.1"}
    device, token = device_token(client).split(".")
    # No share of an address is larger than the whole: to fill that from one, it must be this machine's.
    address = "127.0.0.1" if code == "spool_full" else STRANGER
    filled = [post(client, token, address, batch_of(device, number, [other])) for number in range(20)]

    refused = post(client, token, address, batch_of(device, 99, [sample(sent)]))
    receipt = client.get(f"/api/notifications/{sent['id']}/receipt", headers=OPERATOR).get_json()

    assert {each.status_code for each in filled} == {200, status}
    assert (refused.status_code, refused.get_json()["code"]) == (status, code)
    assert receipt["delivered_count"] == 1
