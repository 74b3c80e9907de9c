"""The clock channel as a real process over real sockets."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import itertools
import json
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from app import clock
from app.core.clocksync.sync import ClockModel, Tolerances
from app.core.units import ServerUs
from app.server.clock_process import HANDSHAKE_US_MAX, IDLE_US_MAX, ClockConnection, ClockServer
from tests.support.clock_process import ANCHOR_US, ENVIRONMENT, TIMEBASE, ClockProcess, ask, start
from tests.support.patience import PATIENCE_S
from tests.support.streams import say_no_more


@pytest.fixture(scope="module")
def clock_process() -> Iterator[ClockProcess]:
    """One clock for all tests, which must not have written a word to its log by the end of them."""
    running = start()
    yield running
    assert running.end() == b""


def close_of(client: ClientConnection) -> tuple[int, str]:
    """Code and reason of the close that the server sends next."""
    with pytest.raises(ConnectionClosed) as closed:
        collections.deque((client.recv(timeout=PATIENCE_S) for _ in itertools.count()), maxlen=0)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code, closed.value.rcvd.reason


PROBES_AT_ONCE = 50


def answered_until_closed(client: ClientConnection) -> int:
    """How many probes are answered before the connection is closed: so many at once, and as many again.

    One by one they might be no more a second than a client may send, where every answer has to wait for a processor.
    """
    for answered_count in range(0, 5_000, PROBES_AT_ONCE):
        try:
            for number in range(PROBES_AT_ONCE):
                client.send(json.dumps({"probe": number}))
            for _ in range(PROBES_AT_ONCE):
                client.recv(timeout=PATIENCE_S)
        except ConnectionClosed:
            return answered_count
    raise AssertionError("A client may ask as often as it likes.")


def test_an_answer_carries_the_probe_the_timebase_and_stamps_in_order(clock_process: ClockProcess) -> None:
    with clock_process.connect() as client:
        for number in (1, 0, -7, 2**53 - 1):
            probe, answer = ask(client, number)

            assert answer.keys() == {"probe", "received_us", "sent_us", "timebase"}
            assert (answer["probe"], answer["timebase"]) == (number, TIMEBASE)
            stamps_us = [probe.t1_us, probe.t2_us - ANCHOR_US, probe.t3_us - ANCHOR_US, probe.t4_us]
            assert stamps_us == sorted(stamps_us)


def test_32_probes_on_loopback_bound_the_clock_within_1_ms_and_the_truth_is_inside(
    clock_process: ClockProcess,
) -> None:
    """Both ends read CLOCK_MONOTONIC, so the true offset is the anchor, exactly."""
    with clock_process.connect() as client:
        probes = [ask(client, number)[0] for number in range(32)]

    model = ClockModel.fit(probes, Tolerances(quantum_us=1.0, wander_us=0.0))

    assert model is not None
    now_us = probes[-1].t4_us
    assert model.bound_us(now_us) < 50_000.0
    assert abs(model.offset_us(now_us) - ANCHOR_US) <= model.bound_us(now_us)


def test_probes_that_arrive_together_are_all_answered_in_order(clock_process: ClockProcess) -> None:
    with clock_process.connect() as client:
        for number in range(50):
            client.send(json.dumps({"probe": number}))

        answers = [json.loads(client.recv(timeout=PATIENCE_S))["probe"] for _ in range(50)]

    assert answers == list(range(50))


def test_the_process_ends_when_its_standard_input_does_and_says_goodbye() -> None:
    running = start()
    with running.connect() as client:
        ask(client, 1)

        assert running.end() == b""

        assert close_of(client) == (1001, "the server ends")
        assert running.process.returncode == 0


def test_the_process_ends_on_sigterm() -> None:
    running = start()

    running.process.send_signal(signal.SIGTERM)

    assert running.process.wait(timeout=PATIENCE_S) == 0
    assert running.end() == b""


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("", 1007),
        ("ping", 1007),
        ('{"probe": 1', 1007),
        ("[" * 200, 1007),
        ("{}", 1003),
        ("[1]", 1003),
        ("1", 1003),
        ('{"probe": true}', 1003),
        ('{"probe": 1.5}', 1003),
        ('{"probe": "1"}', 1003),
        ('{"probe": NaN}', 1003),
        ('{"probe": 9007199254740992}', 1003),
        ('{"probe": 1, "more": 2}', 1003),
        (b'{"probe": 1}', 1003),
        (["{", '"probe": 1}'], 1003),
        ('{"probe": 1}' + " " * 300, 1009),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_any_other_message_closes_its_connection_with_a_reason(
    clock_process: ClockProcess, message: Any, code: int
) -> None:
    with clock_process.connect() as bystander, clock_process.connect() as client:
        with contextlib.suppress(
            ConnectionClosed
        ):  # Its first fragment may be refused before the second is sent.
            client.send(message)

        close_code, reason = close_of(client)

        assert close_code == code
        assert 0 < len(reason) < 100
        assert ask(bystander, 3)[1]["probe"] == 3


def test_text_that_is_not_utf8_is_refused(clock_process: ClockProcess) -> None:
    with clock_process.connect() as client:
        client.send(b'{"probe": 1, "\xff": 2}', text=True)

        assert close_of(client)[0] == 1007


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /clock HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
        b"\xff" * 10_000,
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 500 + b"\r\n",
        b"GET /" + b"a" * 9_000,
        b"\r\n\r\n",
        b"",
    ],
    ids=["plain get", "post", "tls", "noise", "many headers", "long line", "empty lines", "nothing"],
)
def test_what_is_not_a_websocket_handshake_is_turned_away_without_a_word_in_the_log(
    clock_process: ClockProcess, data: bytes
) -> None:
    with socket.create_connection(("127.0.0.1", clock_process.port), timeout=5) as stranger:
        stranger.sendall(data)
        say_no_more(stranger)
        answer = b"".join(iter(lambda: stranger.recv(4096), b""))

    assert b"101 Switching" not in answer
    with clock_process.connect() as client:
        assert ask(client, 1)[1]["probe"] == 1


def test_a_client_that_breaks_the_frame_format_is_closed(clock_process: ClockProcess) -> None:
    rng = random.Random(3)
    for _ in range(20):
        with clock_process.connect() as client:
            client.socket.sendall(rng.randbytes(200))
            # The server may have closed by now, or wait for the rest of what looks like a long frame.
            say_no_more(client.socket)

    with clock_process.connect() as client:
        assert ask(client, 1)[1]["probe"] == 1


def test_a_client_that_resets_its_connection_leaves_no_trace(clock_process: ClockProcess) -> None:
    for _ in range(20):
        with clock_process.connect() as client:
            client.send('{"probe": 1}')
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            client.socket.close()

    with clock_process.connect() as client:
        assert ask(client, 1)[1]["probe"] == 1


def test_a_client_that_floods_is_closed_for_policy(clock_process: ClockProcess) -> None:
    with clock_process.connect() as client:
        answered_count = answered_until_closed(client)

        assert close_of(client) == (1008, "too many frames")
        assert answered_count >= 400


def test_pings_count_as_frames(clock_process: ClockProcess) -> None:
    with clock_process.connect(ping_interval=None) as client:
        with contextlib.suppress(ConnectionClosed):
            for _ in range(10_000):
                client.ping()

        assert close_of(client)[0] == 1008


def test_compression_is_not_negotiated(clock_process: ClockProcess) -> None:
    with connect(clock_process.url, compression="deflate") as client:
        assert client.response is not None
        assert "Sec-WebSocket-Extensions" not in client.response.headers


def test_a_port_in_use_is_an_unfit_environment_and_one_sentence(clock_process: ClockProcess) -> None:
    command = [sys.executable, "-P", "-m", "app.server.clock_process", "--host", "127.0.0.1"]
    command += ["--port", str(clock_process.port), "--anchor-us", "0", "--timebase", "00"]

    second = subprocess.run(
        command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S
    )

    assert second.returncode == 3
    assert second.stdout == ""
    assert second.stderr.startswith("The clock cannot listen on 127.0.0.1 port ")
    assert second.stderr.count("\n") == 1


def test_the_clock_process_loads_neither_green_threads_nor_flask() -> None:
    code = "import sys, app.server.clock_process as _; print({'eventlet', 'gevent', 'flask'} & sys.modules.keys())"

    loaded = subprocess.run(
        [sys.executable, "-P", "-c", code], env=ENVIRONMENT, capture_output=True, text=True
    )

    assert loaded.stdout == "set()\n"


async def served(clock_server: ClockServer) -> tuple[asyncio.Server, int]:
    """A clock in this process, for the limits of time: the tests hand the sweep a later now instead of waiting."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ClockConnection(clock_server), "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


def test_a_handshake_that_does_not_come_is_cut_off_and_an_open_connection_is_not() -> None:
    async def scenario() -> None:
        clock_server = ClockServer(connections_max=10, allowed_hosts=frozenset())
        server, port = await served(clock_server)
        async with server, connect_async(f"ws://127.0.0.1:{port}/") as client:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            while len(clock_server.connections) < 2:
                await asyncio.sleep(0)

            clock_server.sweep(ServerUs(clock.now_us() + HANDSHAKE_US_MAX))

            assert await reader.read() == b""
            await client.send('{"probe": 1}')
            assert '"probe":1' in str(await client.recv())
            writer.close()

    asyncio.run(asyncio.wait_for(scenario(), 10))


def test_a_connection_without_a_frame_for_five_minutes_is_closed_as_idle() -> None:
    async def scenario() -> None:
        clock_server = ClockServer(connections_max=10, allowed_hosts=frozenset())
        server, port = await served(clock_server)
        async with server, connect_async(f"ws://127.0.0.1:{port}/") as client:
            clock_server.sweep(ServerUs(clock.now_us() + IDLE_US_MAX + 1))

            await client.wait_closed()
            assert (client.close_code, client.close_reason) == (1001, "idle")

    asyncio.run(asyncio.wait_for(scenario(), 10))


def test_a_connection_too_many_gets_503_and_its_place_is_free_again_later() -> None:
    async def scenario() -> None:
        clock_server = ClockServer(connections_max=1, allowed_hosts=frozenset())
        server, port = await served(clock_server)
        async with server:
            async with connect_async(f"ws://127.0.0.1:{port}/"):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                assert (await reader.read()).startswith(b"HTTP/1.1 503 ")
                writer.close()

            async with connect_async(f"ws://127.0.0.1:{port}/") as client:
                await client.send('{"probe": 1}')
                assert '"probe":1' in str(await client.recv())

    asyncio.run(asyncio.wait_for(scenario(), 10))
