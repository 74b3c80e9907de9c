"""`serve --https`: both transports, the clock channel and the pages' headers over TLS."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.sync.client import connect

from app.server.tls import keep
from tests.support.encrypted import Encrypted, serving
from tests.support.floods import FLOODS, is_ended_by
from tests.support.patience import PATIENCE_S
from tests.support.server import ROOT
from tests.support.streams import read_until


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Encrypted]:
    folder = tmp_path_factory.mktemp("https")
    with serving(folder, "--https", "ca", trust="runs/.tls/ca.pem") as running:
        yield running


def test_the_certificate_holds_under_every_address_that_is_told(server: Encrypted) -> None:
    told = re.findall(rf"https://([\d.]+):{server.port}/\s", server.log.read_text())

    assert "127.0.0.1" in told
    for host in told:
        assert server.ask("/healthz", host)[0].status == 200


def test_both_transports_deliver_over_tls(server: Encrypted) -> None:
    link = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=PATIENCE_S, context=server.trust)
    url = f"wss://127.0.0.1:{server.port}/socket.io/?EIO=4&transport=websocket"
    with contextlib.closing(link), connect(url, ssl=server.trust, proxy=None) as channel:
        link.request("GET", "/events")
        stream = link.getresponse()
        assert str(channel.recv(timeout=PATIENCE_S)).startswith("0{")
        channel.send("40")
        assert str(channel.recv(timeout=PATIENCE_S)).startswith("40{")

        server.publish("over TLS")

        event = json.loads(str(channel.recv(timeout=PATIENCE_S)).removeprefix("42"))
        while not (line := stream.readline()).startswith(b"data: {"):
            assert line
    assert event[1] == json.loads(line.removeprefix(b"data: "))
    assert event[1]["title"] == "over TLS"


@pytest.mark.slow
@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_frames_ends_its_websocket_over_tls_too(server: Encrypted, flood: str) -> None:
    """Such a connection is never taken over: the stock WebSocket reads it."""
    plain = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    with server.trust.wrap_socket(plain, server_hostname="127.0.0.1") as sock:
        sock.sendall(
            b"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        read_until(sock, b'"sid"')

        assert is_ended_by(sock, flood)

    assert server.ask("/healthz")[0].status == 200


def test_the_clock_channel_shows_the_same_certificate(server: Encrypted) -> None:
    version = json.loads(server.ask("/version")[1])

    with connect(f"wss://127.0.0.1:{version['clock_port']}/", ssl=server.trust, proxy=None) as clock:
        clock.send('{"probe":7}')
        answer = json.loads(clock.recv(timeout=PATIENCE_S))
        clock.send("nonsense")
        with contextlib.suppress(Exception):
            clock.recv(timeout=PATIENCE_S)

    assert answer["probe"] == 7
    assert answer["timebase"] == version["timebase"]
    assert clock.protocol.close_code == 1007


def test_a_page_over_tls_is_isolated_and_may_ask_the_encrypted_clock_only(server: Encrypted) -> None:
    answer, _page = server.ask("/")
    version = json.loads(server.ask("/version")[1])

    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer.headers["Cross-Origin-Embedder-Policy"] == "require-corp"
    policy = answer.headers["Content-Security-Policy"]
    assert f"connect-src 'self' wss://127.0.0.1:{version['clock_port']};" in policy
    assert "Strict-Transport-Security" not in answer.headers


def test_phones_get_the_authority_that_the_terminal_names(server: Encrypted) -> None:
    answer, body = server.ask("/ca.crt")

    assert answer.headers["Content-Type"] == "application/x-x509-ca-cert"
    assert body == (server.folder / "runs/.tls/ca.pem").read_bytes()
    der = ssl.PEM_cert_to_DER_cert(body.decode())
    assert hashlib.sha256(der).hexdigest().upper() in server.log.read_text().replace(":", "")


def test_a_client_that_says_no_hello_keeps_nobody_waiting(server: Encrypted) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))

        assert server.ask("/healthz")[0].status == 200


def said_in_plain(server: Encrypted, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain:
        plain.sendall(request)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while more := plain.recv(4096):
                answer += more
    return answer


def test_who_comes_over_plain_http_is_sent_to_https(server: Encrypted) -> None:
    host = f"127.0.0.1:{server.port}".encode()

    answer = said_in_plain(server, b"GET /?lang=id HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 307 ")
    assert b"\r\nLocation: https://" + host + b"/?lang=id\r\n" in answer


@pytest.mark.parametrize(
    "request_",
    [
        b"POST /api/notifications HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: evil\x00\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET \\evil HTTP/1.1\r\nHost: a:1\r\n\r\n",
        b"\x00" * 9000,
    ],
)
def test_what_is_no_plain_question_for_a_page_is_closed_and_harms_nobody(
    server: Encrypted, request_: bytes
) -> None:
    assert said_in_plain(server, request_) == b""
    assert server.ask("/healthz")[0].status == 200
    assert "Traceback" not in server.log.read_text()


def test_the_server_looks_at_itself_and_says_what_it_saw(server: Encrypted) -> None:
    """That it is ready; or, on a machine as busy as one under test, what made it slow."""
    server.wait_for_output(
        r"Ctrl-C ends it\.\n  (Ready: https://\S+ answers, .* after \d+ ms|look  .*(busy|millionths))"
    )


@pytest.mark.slow
def test_a_certificate_of_one_s_own_is_shown(tmp_path: Path) -> None:
    made = keep.make(keep.SELF, tmp_path / "mine", [])

    with serving(
        tmp_path, "--cert", str(made.certificate), "--key", str(made.key), trust="mine/self.pem"
    ) as server:
        assert server.ask("/healthz", "localhost")[0].status == 200
        assert server.ask("/ca.crt")[0].status == 404
        assert server.ask("/healthz")[0].status == 200


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--cert", "a.pem"), 2, "give both"),
        (("--cert", "a.pem", "--key", "b.pem"), 2, "There is no file a.pem"),
        (("--cert", "a.pem", "--key", "b.pem", "--https", "self"), 2, "give one of them"),
        (("--https", "both"), 2, "--https"),
    ],
)
def test_what_does_not_go_together_is_refused_in_words(
    tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "app", "serve", "--port", "0", "--no-check", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )

    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
