"""`siar doctor` as it is run: what it finds, says and answers."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.tools.calibrate.tcp_proxy import TcpProxy
from app.tools.doctor import ask, examine, service, service_checks
from app.tools.doctor.finding import FindingState
from tests.support import netns
from tests.support.nginx import bare_nginx, nginx_below_a_prefix, plain_nginx
from tests.support.patience import PATIENCE_S
from tests.support.proxy import tampered
from tests.support.server import ROOT, free_port, running_server


def doctor(
    folder: Path, *arguments: str, inside: Sequence[str] = (), **settings: str
) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SIAR_", "LC_"))}
    return subprocess.run(
        [*inside, sys.executable, "-P", "-m", "app", "doctor", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env={**environment, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT), **settings},
    )


def states(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return {each["name"]: each for each in json.loads(done.stdout)["checks"]}


@pytest.mark.nightly
@pytest.mark.alone  # It judges how soon a first byte comes, and so does what it runs, by bounds of its own.
def test_a_free_port_is_looked_at_with_a_real_server(tmp_path: Path) -> None:
    done = doctor(tmp_path, "--port", str(free_port()), "--json", "-")

    assert done.returncode == 0, done.stdout + done.stderr
    found = states(done)
    assert {name for name in ("port", "reach", "first_byte", "upgrade") if found[name]["state"] != "fail"} == {
        "port", "reach", "first_byte", "upgrade",
    }  # fmt: skip
    assert found["upgrade"]["code"] == "open"
    assert float(found["first_byte"]["values"]["took_ms"]) < 2_000
    assert list((tmp_path / "runs").iterdir()) == [], "what was looked at left a run behind"


@pytest.mark.slow
def test_a_port_that_is_taken_ends_it_with_a_next_step_in_the_reader_s_language(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        done = doctor(tmp_path, "--host", "127.0.0.1", "--port", port, LANG="id_ID.UTF-8")

    assert done.returncode == 3
    assert f"GAGAL    Tidak dapat mendengarkan di 127.0.0.1 port {port}" in done.stdout
    assert "--port" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_server_that_runs_is_looked_at_itself(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        done = doctor(
            tmp_path,
            "--host",
            "127.0.0.1",
            "--port",
            str(server.port),
            "--json",
            "found.json",
            "--lang",
            "id",
        )

    assert done.returncode == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["language"] == "id"
    assert "port" not in {each["name"] for each in found["checks"]}
    assert {each["name"]: each["code"] for each in found["checks"]}["address"] == "loopback"


LONG_HEARTBEAT_S = service.HEARTBEAT_S + 6
"""A second longer than doctor would wait for a heartbeat of the server that it starts itself."""


@pytest.mark.slow
def test_a_service_at_another_port_is_judged_by_the_heartbeat_that_it_tells(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0, heartbeat_s=LONG_HEARTBEAT_S) as server:
        done = doctor(tmp_path, "--port", str(free_port()), "--url", server.url, "--json", "-")

    assert done.returncode == 0, done.stdout + done.stderr
    found = states(done)
    assert found["service"]["code"] == "elsewhere"
    assert set(found) == {"service", "reach", "page", "origin", "first_byte", "upgrade"}


@pytest.mark.nightly
@pytest.mark.alone  # A cable that is made here breaks off what Chromium loads elsewhere (ERR_NETWORK_CHANGED).
def test_from_another_machine_only_the_proxy_that_hides_the_name_is_blamed(tmp_path: Path) -> None:
    """Off loopback a browser does not say that it asks its own origin: the name in Host alone can show it."""
    netns.require()
    with (
        netns.namespace() as far,
        running_server(tmp_path, recorder=0, host="0.0.0.0", heartbeat_s=LONG_HEARTBEAT_S) as server,
        plain_nginx(tmp_path / "passes", server.port, address=far.near) as passes,
        plain_nginx(
            tmp_path / "hides", server.port, address=far.near, inner="proxy_set_header Host siar;"
        ) as hides,
    ):
        urls = (f"http://{far.near}:{server.port}", passes, hides)
        found = [states(doctor(tmp_path, "--url", url, "--json", "-", inside=far.inside)) for url in urls]

    wrong = [{name: each["code"] for name, each in one.items() if each["state"] == "fail"} for one in found]
    assert [one["service"]["code"] for one in found] == ["elsewhere"] * 3
    assert wrong == [{}, {}, {"origin": "refused"}]


@contextlib.contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server in front of ours that does something else; its URL."""
    kept: list[socket.socket] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client = listener.accept()[0]
                kept.append(client)
                client.recv(65_536)
                answer(client)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)
    for client in kept:
        client.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


@pytest.mark.slow
def test_a_proxy_that_holds_the_first_byte_back_is_found() -> None:
    """Headers at once and then nothing, as of a proxy that collects bytes before it passes them on."""
    with answering(lambda client: client.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")) as url:
        finding = service_checks.check_first_byte(url)

    assert (finding.state, finding.code) == (FindingState.FAIL, "held_back")


def collected(piece: bytes) -> list[bytes]:
    """What a proxy that buffers passes on: of an event stream the headers, of anything else all."""
    head, end, _body = piece.partition(b"\r\n\r\n")
    if b"text/event-stream" in head:
        return [head + end]
    return [] if piece.startswith((b"retry:", b"id:", b":")) else [piece]


@pytest.mark.slow
def test_a_proxy_that_buffers_before_a_real_server_is_found_and_what_to_do_is_said(tmp_path: Path) -> None:
    with (
        running_server(tmp_path, recorder=0) as server,
        TcpProxy("127.0.0.1", server.port, to_client=tampered(collected)) as proxy,
    ):
        done = doctor(
            tmp_path, "--host", "127.0.0.1", "--port", str(server.port), "--url", proxy.url, "--json", "-"
        )

    found = [each for each in json.loads(done.stdout)["checks"] if each["name"] in ("first_byte", "upgrade")]
    assert done.returncode == 3, done.stdout + done.stderr
    own, through_proxy = found[:2], found[2:]
    assert own[0]["code"] in ("prompt", "slow"), "slow: this machine may be busy, and this is no test of time"
    assert [(each["name"], each["code"]) for each in through_proxy] == [
        ("first_byte", "held_back"),
        ("upgrade", "open"),
    ]
    assert through_proxy[0]["values"]["url"] == proxy.url
    assert "proxy_buffering off" in json.dumps(through_proxy[0])


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (HEAD + b"Content-Length: 0\r\n\r\n", "ended"),
        (b"HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n", "no_stream"),
        (b"no HTTP at all\r\n", "no_answer"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n7\r\nretry: \r\n", "prompt slow"),
    ],
)
def test_a_stream_is_judged_by_what_comes_of_it(answer: bytes, code: str) -> None:
    def reply(client: socket.socket) -> None:
        client.sendall(answer)
        client.shutdown(socket.SHUT_WR)

    with answering(reply) as url:
        assert service_checks.check_first_byte(url).code in code.split()


def test_a_proxy_that_compresses_and_holds_back_is_found() -> None:
    """zlib writes its own header at once: a byte, and nothing of the stream."""
    began = zlib.compressobj(wbits=16 + zlib.MAX_WBITS).compress(b"retry: 1000\n\n")
    packed = HEAD + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"

    with answering(lambda client: client.sendall(packed + b"%x\r\n%b\r\n" % (len(began), began))) as url:
        finding = service_checks.check_first_byte(url, heartbeat_within_s=1)

    assert began
    assert (finding.state, finding.code) == (FindingState.FAIL, "held_back")


def only_the_beginning(piece: bytes) -> list[bytes]:
    """The first event passes at once, and the proxy collects bytes after it."""
    return [piece] if piece.startswith(b"HTTP/") or b"retry:" in piece else []


def test_a_proxy_that_holds_back_what_comes_after_the_first_event_is_found(tmp_path: Path) -> None:
    with (
        running_server(tmp_path, recorder=0, heartbeat_s=0.2) as server,
        TcpProxy("127.0.0.1", server.port, to_client=tampered(only_the_beginning)) as proxy,
    ):
        held = service_checks.check_first_byte(proxy.url, heartbeat_within_s=2)
        direct = service_checks.check_first_byte(server.url, heartbeat_within_s=PATIENCE_S)

    assert (held.state, held.code) == (FindingState.FAIL, "later_held_back")
    assert direct.state is not FindingState.FAIL


@pytest.mark.slow
def test_a_page_without_its_files_and_a_refused_post_are_found_below_a_prefix(tmp_path: Path) -> None:
    """Behind an nginx that takes a prefix off, before a server that was not told of it; the page itself comes."""
    with (
        running_server(tmp_path, recorder=0, heartbeat_s=1) as server,
        nginx_below_a_prefix(tmp_path / "nginx", server.port, strips=True) as port,
        bare_nginx(tmp_path / "bare", server.port) as bare_port,
    ):
        url = f"http://127.0.0.1:{port}/siar"
        done = doctor(
            tmp_path, "--host", "127.0.0.1", "--port", str(server.port), "--url", f"{url}/", "--json", "-",
        )  # fmt: skip
        bare = f"http://127.0.0.1:{bare_port}"
        loose = service_checks.check_origin(bare)
        answer = ask.request("POST", bare + service_checks.POST_PATH, headers={"Origin": bare}, body=b"{}")

    found = {each["name"]: each for each in json.loads(done.stdout)["checks"]}
    assert done.returncode == 3
    assert found["page"]["code"] == "missing"
    assert found["page"]["values"]["status"] in ("403", "404")
    assert "SIAR_PREFIX" in json.dumps(found["page"])
    assert loose.code == "accepted", "a browser says on loopback that it asks its own origin"
    assert json.loads(answer.body)["code"] == service_checks.FOREIGN_ORIGIN


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b'HTTP/1.1 403 Forbidden\r\nContent-Length: 25\r\n\r\n{"code":"foreign_origin"}', "refused"),
        (b'HTTP/1.1 405 Method\r\nContent-Length: 12\r\n\r\n{"code":"a"}', "strange"),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\nBad", "strange"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "strange"),
        (b"no HTTP at all\r\n", "no_answer"),
    ],
)
def test_a_post_that_does_not_get_through_is_found(answer: bytes, code: str) -> None:
    with answering(lambda client: client.sendall(answer)) as url:
        finding = service_checks.check_origin(url)

    assert (finding.state, finding.code) == (FindingState.FAIL, code)


def test_a_page_in_the_place_of_every_file_is_found() -> None:
    """As of a development server that answers what it does not know with its own page."""
    page = b'<link rel="stylesheet" href="static/a.css" />'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"

    def reply(client: socket.socket) -> None:
        client.sendall(head + b"Content-Length: %d\r\n\r\n%b" % (len(page), page))

    with answering(reply) as url:
        finding = service_checks.check_page(f"{url}/siar/")

    assert (finding.code, finding.places["url"]) == ("another", f"{url}/siar/static/a.css")


def test_a_proxy_that_passes_no_websocket_is_found() -> None:
    def reply(client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    with answering(reply) as url:
        assert service_checks.check_upgrade(url).code == "refused"


def test_an_address_where_nothing_answers_is_named() -> None:
    url = f"http://127.0.0.1:{free_port()}"

    assert service_checks.check_reach([url]).code == "silent"
    assert [each.name for each in examine.of_running([url])] == ["reach"], "the rest would only say it again"
