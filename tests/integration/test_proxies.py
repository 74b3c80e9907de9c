"""Real proxies before a real server: what a page does through each of them.

nginx with a bare `proxy_pass`, as documented (HTTPS), below a prefix that it takes away or not, all with gzip on; haproxy as
documented; the proxy of a front-end's development server, which compresses and puts its target into Host.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from app.server.tls import keep
from app.tools.doctor import examine, service_checks
from app.tools.doctor.finding import FindingState
from tests.support.haproxy import haproxy
from tests.support.nginx import bare_nginx, nginx_before_one, nginx_below_a_prefix
from tests.support.node_proxy import node_proxy
from tests.support.page_requests import Front
from tests.support.patience import PATIENCE_S
from tests.support.room_by_hand import sample
from tests.support.server import RunningServer, running_server

pytestmark = pytest.mark.slow

Opens = Callable[[Path, RunningServer], contextlib.AbstractContextManager[Front]]


@contextlib.contextmanager
def bare(folder: Path, server: RunningServer) -> Iterator[Front]:
    with bare_nginx(folder, server.port) as port:
        yield Front(f"http://127.0.0.1:{port}", server, upgrades=False)


@contextlib.contextmanager
def documented(folder: Path, server: RunningServer) -> Iterator[Front]:
    files = keep.make("self", folder / "tls", ["127.0.0.1"])
    assert server.clock_port
    with nginx_before_one(
        folder / "nginx", server.port, server.clock_port, certificate=files.certificate, key=files.key
    ) as ports:
        trust = ssl.create_default_context(cafile=files.certificate)
        yield Front(f"https://127.0.0.1:{ports.service}", server, trust)


@contextlib.contextmanager
def below(folder: Path, server: RunningServer) -> Iterator[Front]:
    with nginx_below_a_prefix(folder, server.port, strips=False) as port:
        yield Front(f"http://127.0.0.1:{port}/siar", server)


@contextlib.contextmanager
def below_stripped(folder: Path, server: RunningServer) -> Iterator[Front]:
    with nginx_below_a_prefix(folder, server.port, strips=True) as port:
        yield Front(f"http://127.0.0.1:{port}/siar", server)


@contextlib.contextmanager
def balanced(folder: Path, server: RunningServer) -> Iterator[Front]:
    with haproxy(folder, server.port) as port:
        yield Front(f"http://127.0.0.1:{port}", server)


@contextlib.contextmanager
def development(folder: Path, server: RunningServer) -> Iterator[Front]:
    with node_proxy(folder, server.port, says_host=False) as port:
        yield Front(f"http://127.0.0.1:{port}", server)


@contextlib.contextmanager
def development_xfwd(folder: Path, server: RunningServer) -> Iterator[Front]:
    with node_proxy(folder, server.port, says_host=True) as port:
        yield Front(f"http://127.0.0.1:{port}", server)


PROXIES: tuple[Opens, ...] = (
    *(bare, documented, below, below_stripped),
    *(balanced, development, development_xfwd),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(
        tmp_path_factory.mktemp("proxies"),
        trusted_proxies="127.0.0.1",
        allowed_hosts="127.0.0.1",  # Of no WebSocket does Chromium say by Sec-Fetch-Site where it comes from.
        admin_over_http=1,
        heartbeat_s=1,
        recorder=0,
    ) as running:
        yield running
        assert "Traceback" not in running.log()


@pytest.fixture(scope="module", params=PROXIES, ids=lambda opens: opens.__name__)
def front(
    request: pytest.FixtureRequest, server: RunningServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Front]:
    with request.param(tmp_path_factory.mktemp("front"), server) as opened:
        yield opened


def test_the_page_comes_with_every_file_that_it_refers_to(front: Front) -> None:
    finding = service_checks.check_page(front.url)

    assert (finding.state, finding.code) == (FindingState.OK, "whole"), finding.places
    assert int(str(finding.places["count"])) > 15


def test_a_notification_comes_while_the_stream_is_open_and_what_was_missed_is_resumed(front: Front) -> None:
    with front.stream() as stream:
        stream.until("id: ")
        front.server.publish("while open")
        stream.until('"title":"while open"')
    front.server.publish("missed")
    with front.stream(**{"Last-Event-ID": stream.last_id()}) as again:
        again.until('"title":"missed"')
        front.server.publish("live again")
        again.until('"title":"live again"')

    assert again.text.count('"title":"missed"') == 1
    assert "while open" not in again.text
    assert "event: gap" not in again.text


def test_a_position_in_the_query_resumes_where_a_proxy_drops_the_header(front: Front) -> None:
    position = front.server.publish("before")["id"]
    front.server.publish("missed by query")

    with front.stream(f"/events?last_event_id={position}") as stream:
        stream.until('"title":"missed by query"')

    assert '"title":"before"' not in stream.text


def test_socket_io_comes_by_polling(front: Front) -> None:
    path = "/socket.io/?EIO=4&transport=polling"
    opened = front.ask("GET", path)
    sid = opened.body.decode().split('"sid":"')[1].split('"')[0]
    own = f"{path}&sid={sid}"
    with contextlib.closing(front.link()) as link:
        link.request("POST", front.prefix + own, body=b"40", headers=front.headers())
        said = link.getresponse().read()
    connected = front.ask("GET", own)
    front.server.publish("polled")
    told = front.ask("GET", own)

    assert said == b"ok"
    assert connected.body.startswith(b"40{")
    assert b'"title":"polled"' in told.body


def test_socket_io_comes_by_websocket_or_says_that_it_cannot(front: Front) -> None:
    url = "ws" + front.url.removeprefix("http") + "/socket.io/?EIO=4&transport=websocket"
    opening = connect(
        url,
        ssl=front.trust,
        origin=Origin(front.origin),
        open_timeout=PATIENCE_S,
        proxy=None,
    ) if front.upgrades else None  # fmt: skip
    if opening is None:
        with pytest.raises(InvalidStatus) as refused:
            connect(url, open_timeout=PATIENCE_S, proxy=None)
        assert refused.value.response.status_code == 400
        return
    with opening as channel:
        assert str(channel.recv(timeout=PATIENCE_S)).startswith("0{")
        channel.send("40")
        assert str(channel.recv(timeout=PATIENCE_S)).startswith("40{")
        front.server.publish("framed")
        told = str(channel.recv(timeout=PATIENCE_S))

    assert '"title":"framed"' in told


def test_what_pages_post_is_let_in(front: Front) -> None:
    token = {"Authorization": f"Bearer {front.server.admin_token}"}

    device = front.ask("POST", "/api/devices", {})
    own = {"Authorization": f"Bearer {device.json['device']}.{device.json['token']}"}
    batch = {"batch_id": "a" * 16, "device": device.json["device"], "clock_channel": "http", "timebase": "x"}
    published = front.server.publish("arrived")
    arrived = {**batch, "samples": [sample({**published, "due_us": published["sent_us"]})]}
    delivered = front.ask("POST", "/api/deliveries", arrived, headers=own)
    joined = front.ask("POST", "/api/participants", {"name": "A"}, headers=own)
    answered = front.ask("POST", "/api/notifications", {"title": "a", "body": "b"}, headers=token)

    assert device.status == 201, device.body
    assert f"Path={front.prefix}/;" in device.headers["Set-Cookie"] + ";"
    assert delivered.status == 200, delivered.body
    assert answered.status == 201, answered.body
    assert joined.status == 409, joined.body  # Nobody has opened a room.


def test_a_page_of_another_site_is_refused(front: Front) -> None:
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}

    answers = [
        front.ask("POST", "/api/devices", {}, headers=foreign),
        front.ask("GET", "/socket.io/?EIO=4&transport=polling", headers=foreign),
    ]

    assert [(each.status, each.json["code"]) for each in answers] == [(403, "foreign_origin")] * 2


def test_the_operator_signs_in_and_gets_a_link_that_leads_through_the_proxy(front: Front) -> None:
    token = {"Authorization": f"Bearer {front.server.admin_token}"}
    signed_in = front.ask("POST", "/api/sessions", {}, headers=token)
    cookie = {"Cookie": signed_in.headers["Set-Cookie"].split(";")[0], "X-Siar": "1"}

    devices = front.ask("GET", "/api/devices", headers=cookie)
    link = front.ask("POST", "/api/links", {}, headers=cookie)

    assert signed_in.status == 201, signed_in.body
    assert f"Path={front.prefix}/;" in signed_in.headers["Set-Cookie"] + ";"
    assert devices.status == 200
    if front.prefix or front.trust:  # The others do not all tell what the browser asked for.
        assert link.json["url"].startswith(f"{front.url}/admin?key=")


def test_the_clock_is_read_over_http(front: Front) -> None:
    stamps = front.ask("GET", "/api/clock").json

    assert stamps["received_us"] <= stamps["sent_us"]


def test_the_doctor_finds_nothing_wrong(front: Front) -> None:
    findings = examine.of_running([front.url], heartbeat_within_s=PATIENCE_S)

    wrong = {
        each.name: each.code for each in findings if each.state is FindingState.FAIL or each.name == "upgrade"
    }
    assert {each.name for each in findings} >= {"page", "origin", "first_byte", "upgrade"}
    assert wrong == {"upgrade": "open" if front.upgrades else "refused"}
