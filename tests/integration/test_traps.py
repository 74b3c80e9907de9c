"""Traps that others fell into (design, section 6), each with its number."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.support.interop import interop_client
from tests.support.metrics import metric
from tests.support.patience import PATIENCE_S
from tests.support.server import ROOT, free_port, running_server
from tests.support.streams import SocketIoReader, SseReader, socketio, sse

FIRST_BYTE_S_MAX = 10.0
"""Generous for a busy machine; a server that holds back until 4,096 bytes never sends it."""

EVENTLET_WSGI = """
    import eventlet
    eventlet.monkey_patch()
    from app.server.wsgi import mode
    mode.use(mode.EVENTLET)
    from app.server.factory import create_app
    app = create_app()
    app.extensions["socketio"].run(
        app, port=app.services.settings.port, minimum_chunk_size=0, log_output=False
    )
"""

WERKZEUG = """
    from app.server.factory import create_app
    app = create_app()
    app.extensions["socketio"].run(app, port=app.services.settings.port, allow_unsafe_werkzeug=True)
"""


def program(source: str) -> list[str]:
    return ["-c", textwrap.dedent(source)]


def commands(port: int) -> dict[str, list[str]]:
    """The ways in which a Flask user starts a service."""
    return {
        "gunicorn -c gunicorn.conf.py": ["-m", "gunicorn", "-c", str(ROOT / "gunicorn.conf.py"), "wsgi:app"],
        "flask run": ["-m", "flask", "--app", "wsgi", "run", "--port", str(port)],
        "socketio.run, eventlet": program(EVENTLET_WSGI),
        "socketio.run, threads": program(WERKZEUG),
        "./siar serve": ["-m", "app", "serve", "--host", "127.0.0.1", "--port", str(port)],
    }


WAYS = [
    "./siar serve",
    "socketio.run, eventlet",
    *(
        pytest.param(way, marks=pytest.mark.slow)
        for way in commands(0)
        if "run, e" not in way and "siar" not in way
    ),
]


@pytest.mark.parametrize("way", WAYS)
def test_first_bytes_arrive_at_once_and_both_transports_work(way: str, tmp_path: Path) -> None:
    """Trap 1, and "works under": gunicorn, `flask run`, `socketio.run`."""
    port = free_port()
    with running_server(tmp_path, command=commands(port)[way], port=port, recorder=0) as server:
        asked_s = time.monotonic()
        with sse(port) as stream, socketio(port) as channel:
            assert time.monotonic() - asked_s < FIRST_BYTE_S_MAX
            assert "position" in channel.connect
            server.publish("one", "first")
            server.publish("two", "second")

            over_sse = [stream.next_notification() for _ in range(2)]
            over_socketio = [channel.next_notification() for _ in range(2)]
        assert [each["title"] for each in over_sse] == ["one", "two"]
        assert over_socketio == over_sse
        left_at = over_sse[0]["id"]
        with (
            sse(port, f"?last_event_id={left_at}") as stream,
            socketio(port, {"last_event_id": left_at}) as channel,
        ):
            assert stream.next_notification() == channel.next_notification() == over_sse[1]
    assert "Traceback" not in server.log(), server.log()


@pytest.mark.slow
def test_gunicorn_alone_picks_up_the_worker_from_its_configuration(tmp_path: Path) -> None:
    """`gunicorn wsgi:app` in the checkout, with nothing else said."""
    command = ["-m", "gunicorn", "wsgi:app"]
    with running_server(tmp_path, command=command, cwd=ROOT, recorder=0) as server:
        assert server.request("GET", "/version")[1]["async_mode"] == "eventlet"


@pytest.mark.slow
def test_without_our_worker_the_mode_is_threads_and_never_guessed(tmp_path: Path) -> None:
    """Trap 3: eventlet and gevent are installed, and Flask-SocketIO would take the first it finds."""
    port = free_port()
    with running_server(tmp_path, command=commands(port)["flask run"], port=port) as server:
        assert server.request("GET", "/version")[1]["async_mode"] == "threading"


def test_a_port_in_use_is_refused_in_words(tmp_path: Path) -> None:
    """Trap 2: a second server that sets SO_REUSEPORT would take half of the clients."""
    with running_server(tmp_path, recorder=0) as server:
        second = subprocess.run(
            [sys.executable, "-P", "-m", "app", "serve", "--host", "127.0.0.1", "--port", str(server.port)],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        )

        assert second.returncode == 3
        assert str(server.port) in second.stderr
        assert "--port" in second.stderr
        assert "Traceback" not in second.stderr


@pytest.mark.slow
@pytest.mark.parametrize("way", ["gunicorn -c gunicorn.conf.py", "flask run"])
def test_no_compression_unless_asked(way: str, tmp_path: Path) -> None:
    """Trap 4: the library's WebSockets negotiate permessage-deflate by themselves."""
    for compression in (False, True):
        port = free_port()
        folder = tmp_path / str(compression)
        folder.mkdir()
        with (
            running_server(
                folder, command=commands(port)[way], port=port, recorder=0, compression=int(compression)
            ) as server,
            connect(f"ws://127.0.0.1:{port}/socket.io/?EIO=4&transport=websocket") as websocket,
        ):
            assert bool(websocket.protocol.extensions) is compression
            websocket.recv(timeout=PATIENCE_S)
            websocket.send("40")
            websocket.recv(timeout=PATIENCE_S)
            server.publish("x" * 100, "y" * 5000)
            assert "y" * 5000 in str(websocket.recv(timeout=PATIENCE_S))


@pytest.mark.slow
def test_no_polling_detour_unless_asked(tmp_path: Path) -> None:
    """Trap 5: told `transports: ["websocket"]`, the official client never polls, and no upgrade is offered."""
    with running_server(tmp_path, recorder=0) as server:
        with connect(f"ws://127.0.0.1:{server.port}/socket.io/?EIO=4&transport=websocket") as websocket:
            assert '"upgrades":[]' in str(websocket.recv(timeout=PATIENCE_S))
        before = metric(server, "siar_http_requests_total")
        with interop_client("javascript", server.url, transports=["websocket"]) as client:
            assert client.wait("connect")["transport"] == "websocket"
            after = metric(server, "siar_http_requests_total")
    assert after - before == 2  # the WebSocket, and the question itself


def test_an_emit_loop_does_not_hold_notifications_back(tmp_path: Path) -> None:
    """Trap 13: 20 notifications 50 ms apart must not arrive together at the end."""
    with (
        running_server(tmp_path, recorder=0) as server,
        sse(server.port) as stream,
        socketio(server.port) as channel,
    ):
        readers: dict[str, SseReader | SocketIoReader] = {"sse": stream, "socketio": channel}
        for number, (transport, reader) in enumerate(readers.items()):
            order = {
                "run": "trap13",
                "trial": number,
                "block": 0,
                "transport": transport,
                "notifications": 20,
                "warmup_notifications": 0,
                "rate_hz": 20,
                "payload_bytes": 512,
                "start_after_ms": 50,
                "drain_ms": 0,
            }
            assert server.request("POST", "/api/trials", order)[0] == 201
            arrivals_s = []
            for _ in range(20):
                reader.next_notification()
                arrivals_s.append(time.monotonic())

            assert arrivals_s[-1] - arrivals_s[0] > 0.2, "sent over 0.95 s"
            server.request("DELETE", f"/api/trials/trap13/{number}")


NAGLE_PROBE = """
    import socket, sys
    from app.server.wsgi.peer import peer_socket
    from {module} import app
    inner = app.wsgi_app
    def probe(environ, start_response):
        sock = peer_socket(environ)
        body = inner(environ, start_response)
        state = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) if sock.fileno() >= 0 else "closed"
        print("nodelay", environ["PATH_INFO"], state, file=sys.stderr, flush=True)
        return body
    app.wsgi_app = probe
"""


@pytest.mark.parametrize(
    "way",
    [
        "gunicorn",
        pytest.param("eventlet", marks=pytest.mark.slow),
        pytest.param("threads", marks=pytest.mark.slow),
    ],
)
def test_nagle_is_off_on_the_stream_under_every_server(way: str, tmp_path: Path) -> None:
    """Trap 14: `eventlet.wsgi` leaves it on, and a second small write then waits for an acknowledgement."""
    port = free_port()
    (tmp_path / "probed.py").write_text(textwrap.dedent(NAGLE_PROBE.format(module="wsgi")))
    probed = {
        "gunicorn": [
            "-m",
            "gunicorn",
            "-c",
            str(ROOT / "gunicorn.conf.py"),
            "--pythonpath",
            str(tmp_path),
            "probed:app",
        ],
        "eventlet": program(
            f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
            + textwrap.dedent(EVENTLET_WSGI).replace(
                "from app.server.factory import create_app\napp = create_app()", "from probed import app"
            )
        ),
        "threads": program(
            f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
            + textwrap.dedent(WERKZEUG).replace(
                "from app.server.factory import create_app\napp = create_app()", "from probed import app"
            )
        ),
    }
    with running_server(tmp_path, command=probed[way], port=port, recorder=0) as server:
        with sse(port):
            deadline_s = time.monotonic() + PATIENCE_S
            while "nodelay /events" not in server.log() and time.monotonic() < deadline_s:
                server.request("GET", "/healthz")  # The first bytes may be here before the probe has looked.
        assert "nodelay /events 1" in server.log()


@pytest.mark.slow
def test_static_files_arrive_whole_under_our_worker(tmp_path: Path) -> None:
    """gunicorn would use sendfile, which a green socket refuses: the file would be cut to nothing."""
    with running_server(tmp_path, recorder=0) as server:
        for name in ("css/icon.svg", "vendor/socket.io-client-4.8.4/socket.io.esm.min.js"):
            with urllib.request.urlopen(f"{server.url}/static/{name}", timeout=PATIENCE_S) as response:
                assert response.read() == (ROOT / "static" / name).read_bytes()
        assert "Traceback" not in server.log()


def test_the_listening_socket_does_not_share_its_port(tmp_path: Path) -> None:
    """Trap 2, at the socket: another bind to the same port must fail."""
    with running_server(tmp_path, recorder=0) as server, socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        with pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", server.port))
