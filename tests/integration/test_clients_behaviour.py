"""What Socket.IO promises, with clients that others wrote: npm's official one and python-socketio's.

Each behaviour is tested on all three ways to connect: polling only, polling then upgrade, WebSocket only.
"""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.fanouts import FANOUTS, fanout_settings
from tests.support.interop import CLIENTS, InteropClient, interop_client
from tests.support.patience import PATIENCE_S
from tests.support.server import ROOT, RunningServer, running_server
from tests.support.streams import socketio

APP = ("-m", "gunicorn", "-c", str(ROOT / "gunicorn.conf.py"), "tests.support.behaviour_app:app")

WAYS = {"polling": ["polling"], "upgrade": ["polling", "websocket"], "websocket": ["websocket"]}

REASONS = {
    ("javascript", "by the client"): {"io client disconnect"},
    ("javascript", "by the server"): {"io server disconnect"},
    ("javascript", "broken"): {"transport close", "transport error", "forced close"},
    ("python", "by the client"): {"client disconnect"},
    ("python", "by the server"): {"server disconnect"},
    ("python", "broken"): {"transport close", "transport error", "server disconnect"},
}
"""What each client calls the end of a connection. python-socketio takes Engine.IO's CLOSE for the server's goodbye."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A server, and how to connect to it."""

    server: RunningServer
    kind: str
    way: str

    def connect(self, **options: Any) -> Any:
        """A client that is on its way."""
        return interop_client(self.kind, self.server.url, transports=WAYS[self.way], **options)

    def await_connected(self, client: InteropClient, *more: dict[str, Any]) -> None:
        """Until the namespace stands, on the transport on which this way ends, and `more` was reported too.

        An upgrade may end before or behind any of it.
        """
        transport = {"kind": "transport", "name": WAYS[self.way][-1]}
        client.wait_for_all({"kind": "connect", "namespace": "/"}, transport, *more)


@pytest.fixture(scope="module", params=FANOUTS)
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("behaviour")
    settings = {"recorder": 0, "ping_interval_s": 1, **fanout_settings(request.param)}
    with running_server(folder, command=APP, **settings) as running:
        yield running
        assert "Traceback" not in running.log(), running.log()


IN_EVERY_RUN = {("javascript", "upgrade"), ("python", "websocket")}
"""The official client as it comes, and another one; the rest takes the longer runs."""

SETUPS = [
    pytest.param(
        (kind, way), id=f"{kind}-{way}", marks=[] if (kind, way) in IN_EVERY_RUN else [pytest.mark.nightly]
    )
    for kind in CLIENTS
    for way in WAYS
]


@pytest.fixture(scope="module", params=SETUPS)
def setup(server: RunningServer, request: pytest.FixtureRequest) -> Setup:
    return Setup(server, *request.param)


@pytest.fixture(scope="module")
def client(setup: Setup) -> Iterator[InteropClient]:
    """One client for all tests that leave it connected."""
    with setup.connect(namespaces=["/", "/chat"], auth={"name": "Ani"}) as connected:
        welcome = {"kind": "event", "namespace": "/chat", "event": "welcome", "args": ["Ani"]}
        setup.await_connected(connected, welcome)
        yield connected


NOTICED_S_MAX = 15.0
"""Who says nothing is missed 20 s after a ping (`SIAR_PING_TIMEOUT_S`): what is known by now was not found out by that."""


def until(condition: Callable[[], bool]) -> None:
    """Ask again and again."""
    deadline_s = time.monotonic() + NOTICED_S_MAX
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)  # Who asks without a pause is ended for too many packets.


def binary(data: bytes) -> dict[str, str]:
    """Bytes as they stand on the lines between us and the client."""
    return {"base64": base64.b64encode(data).decode()}


def test_notifications_arrive_in_order(setup: Setup, client: InteropClient) -> None:
    published = [setup.server.publish(f"number {number}")["id"] for number in range(20)]

    received = [client.wait("event", event="notification")["args"] for _ in published]

    assert [arguments[0]["id"] for arguments in received] == published
    assert {len(arguments) for arguments in received} == {1}


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        [1, "two", {"three": [None, True, 4.5]}],
        ["Selamat pagi, dunia \N{EARTH GLOBE ASIA-AUSTRALIA} \u2028"],
        ["x" * 50_000],
        [binary(b""), binary(bytes(range(256)) * 40)],
        [{"nested": [binary(b"one"), {"deeper": binary(b"two")}]}, "text beside it"],
    ],
    ids=["nothing", "json", "unicode", "long", "binary", "nested binary"],
)
def test_the_server_acknowledges_with_what_its_handler_returns(
    client: InteropClient, arguments: list[Any]
) -> None:
    assert client.call("echo", *arguments) == arguments


@pytest.mark.parametrize("argument", ["plain", binary(b"\x00\xff" * 500)], ids=["text", "binary"])
def test_the_client_acknowledges_what_the_server_asks(client: InteropClient, argument: Any) -> None:
    client.emit("ask", argument)

    assert client.next_event() == ("question", [argument])
    assert client.next_event() == ("answered", [["answer", argument]])


def test_events_back_to_back_are_answered_in_order(client: InteropClient) -> None:
    for number in range(200):
        client.emit("say", number, binary(bytes([number])))

    said = [client.next_event() for _ in range(200)]

    assert said == [("said", [number, binary(bytes([number]))]) for number in range(200)]


def test_a_room_reaches_who_joined_until_they_leave(setup: Setup, client: InteropClient) -> None:
    with socketio(setup.server.port) as other:

        def tell(room: str | None, text: str) -> None:
            other.websocket.send("427" + json.dumps(["tell", room, text]))
            while (
                other.next_packet() != '437["told"]'
            ):  # acknowledged; before it others' notifications may come
                pass

        tell("lobby", "before")
        assert client.call("join", "lobby") == ["joined"]
        tell("lobby", "inside")
        assert client.next_event() == ("told", ["lobby", "inside"])
        assert client.call("leave", "lobby") == ["left"]
        tell("lobby", "after")
        tell(None, "to all")

        assert client.next_event() == ("told", [None, "to all"])


def test_namespaces_share_a_connection_and_nothing_else(client: InteropClient) -> None:
    assert client.call("echo", 1, namespace="/chat") == ["chat", 1]
    assert client.call("echo", 1, namespace="/") == [1]
    client.emit("say", "here", namespace="/chat")

    report = client.wait("event")

    assert (report["namespace"], report["event"], report["args"]) == ("/chat", "said", ["here"])


def test_auth_that_is_wrong_is_refused_with_the_reason(setup: Setup) -> None:
    with setup.connect(auth={"topics": ["no spaces, please"]}) as client:
        assert client.wait("connect_error")["message"].startswith("A topic has 1 to 64 letters")


def test_one_namespace_may_refuse_while_the_other_accepts(setup: Setup) -> None:
    with setup.connect(namespaces=["/", "/chat"]) as client:
        reports = [client.wait("connect"), client.wait("connect_error")]

        assert [report["namespace"] for report in reports] == ["/", "/chat"]
        assert reports[1]["message"] == "Tell your name."
        assert client.call("echo", "fine here") == ["fine here"]


def test_an_unknown_namespace_is_refused(setup: Setup) -> None:
    with setup.connect(namespaces=["/", "/nowhere"]) as client:
        client.wait("connect_error", namespace="/nowhere")
        assert client.call("echo", "fine here") == ["fine here"]


def test_auth_filters_by_topic(setup: Setup) -> None:
    with setup.connect(auth={"topics": ["news"]}) as client:
        setup.await_connected(client)
        for topic in ("sport", "news", "weather", "news"):
            setup.server.publish(topic, topic=topic)

        topics = [client.wait("event")["args"][0]["topic"] for _ in range(2)]

    assert topics == ["news", "news"]


def test_the_client_leaves_and_the_server_knows_long_before_a_ping_is_missed(setup: Setup) -> None:
    name = f"{setup.kind} {setup.way}"
    with (
        setup.connect(namespaces=["/", "/chat"], auth={"name": name}) as client,
        interop_client("python", setup.server.url, transports=["websocket"]) as watching,
    ):
        client.wait("connect", namespace="/chat")
        watching.wait("connect")

        client.disconnect()

        assert client.wait("disconnect")["reason"] in REASONS[setup.kind, "by the client"]
        # python-socketio may close before its goodbye is out: the server then tells another reason.
        until(lambda: name in [who for who, _reason in watching.call("departures")[0]])


def test_the_server_ends_a_namespace_and_the_client_takes_it_for_the_servers_wish(setup: Setup) -> None:
    with setup.connect(reconnection=True, reconnectionDelay=50) as client:
        setup.await_connected(client)
        client.emit("kick")

        assert client.wait("disconnect")["reason"] in REASONS[setup.kind, "by the server"]


def test_the_server_ends_one_namespace_of_two(setup: Setup) -> None:
    with setup.connect(namespaces=["/", "/chat"], auth={"name": "Citra"}) as client:
        setup.await_connected(client, {"kind": "connect", "namespace": "/chat"})
        client.emit("kick", namespace="/chat")

        report = client.wait("disconnect")

        assert report["namespace"] == "/chat"
        assert report["reason"] in REASONS[setup.kind, "by the server"]
        assert client.call("echo", "still here") == ["still here"]


def test_the_server_ends_the_connection_and_the_client_comes_back_and_misses_nothing(setup: Setup) -> None:
    with setup.connect(reconnection=True, reconnectionDelay=50, resume=True) as client:
        setup.await_connected(client)
        ids = [setup.server.publish("before")["id"]]
        client.wait("event")
        client.emit("cut")
        assert client.wait("disconnect")["reason"] in REASONS[setup.kind, "broken"]
        if setup.kind == "python":
            return  # It takes Engine.IO's CLOSE for the server's wish, and stays away.

        ids += [setup.server.publish(f"missed {number}")["id"] for number in range(30)]

        received = [client.wait("event")["args"][0]["id"] for _ in ids[1:]]
        assert received == ids[1:]
        assert client.call("echo", "back") == ["back"]


def test_all_stay_connected_over_pings(server: RunningServer) -> None:
    with contextlib.ExitStack() as stack, socketio(server.port) as channel:
        setups = [Setup(server, kind, way) for kind in CLIENTS for way in WAYS]
        clients = [stack.enter_context(setup.connect()) for setup in setups]
        for setup, client in zip(setups, clients, strict=True):
            setup.await_connected(client)
        for _ in range(2):
            while channel.websocket.recv(timeout=PATIENCE_S) != "2":
                pass
            channel.websocket.send("3")

        for client in clients:
            assert client.call("echo", "still here") == ["still here"]


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_websocket_that_breaks_is_resumed(server: RunningServer, kind: str) -> None:
    setup = Setup(server, kind, "websocket")
    with setup.connect(
        reconnection=True, reconnectionDelay=50, resume=True, namespaces=["/", "/chat"], auth={"name": "Dewi"}
    ) as client:
        setup.await_connected(client, {"kind": "event", "event": "welcome"})
        ids = [server.publish("before")["id"]]
        client.wait("event", event="notification")
        client.break_off()
        assert client.wait("disconnect")["reason"] in REASONS[kind, "broken"]

        ids += [server.publish(f"missed {number}")["id"] for number in range(30)]
        received: list[str] = []
        is_back = (
            False  # The second namespace is joined before, between or behind what was missed in the first.
        )
        while len(received) < len(ids[1:]) or not is_back:
            report = client.next_report()
            is_back |= report["kind"] == "connect" and report["namespace"] == "/chat"
            received += ids_in(report)

        assert received == ids[1:]
        assert client.call("echo", 1, namespace="/chat") == ["chat", 1]


def ids_in(report: dict[str, Any]) -> list[str]:
    is_notification = report["kind"] == "event" and report["event"] == "notification"
    return [report["args"][0]["id"]] if is_notification else []


def offsets_in(report: dict[str, Any]) -> list[int]:
    is_notification = report["kind"] == "event" and report["event"] == "notification"
    return [report["args"][0]["offset"]] if is_notification else []


def test_an_upgrade_while_notifications_arrive_loses_and_doubles_none(setup: Setup) -> None:
    final = WAYS[setup.way][-1]
    first = setup.server.publish("first")["offset"]
    stop = threading.Event()
    newest: list[int] = []

    def publish() -> None:
        while not stop.is_set():
            newest.append(setup.server.publish("on and on")["offset"])

    publisher = threading.Thread(target=publish)
    publisher.start()
    try:
        epoch_first = f"{epoch(setup.server)}.{first}"
        with setup.connect(auth={"last_event_id": epoch_first}) as client:
            received: list[int] = []
            while (report := client.next_report())["kind"] != "transport" or report["name"] != final:
                received += offsets_in(report)
            stop.set()
            publisher.join()
            while len(received) < newest[-1] - first:
                received += offsets_in(client.next_report())
    finally:
        stop.set()
        publisher.join()

    assert received == list(range(first + 1, newest[-1] + 1))


def epoch(server: RunningServer) -> str:
    _status, history = server.request("GET", "/api/notifications?limit=1")
    return str(history["position"].partition(".")[0])
