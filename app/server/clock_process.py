"""The clock channel: a separate small process that answers clock probes over WebSocket and does nothing else.

    python -P -m app.server.clock_process --host 0.0.0.0 --port 0 --anchor-us N --timebase HEX

It prints one line, `{"port": 12345}`, when it listens. It ends on SIGTERM, or when its standard input ends because its
parent is gone. A client sends `{"probe": 7}` as one text frame and gets

    {"probe":7,"received_us":1790000000000000,"sent_us":1790000000000021,"timebase":"9f3c..."}

`received_us` is read when the bytes arrive, before they are parsed, and `sent_us` when the answer is written. Therefore the
WebSocket library is used without its I/O layer, in which a frame first passes a queue and a task switch.

Limits, and the reaction at each:
- 4,096 connections, and 256 per network: 503;
- 256 bytes per message: close 1009;
- 200 frames a second sustained: close 1008;
- 10 s for the handshake, and 5 min without a frame: the connection is closed;
- a client that does not read its answers: cut off.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import signal
import socket
import ssl
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast
from urllib.parse import urlsplit

from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from app import clock
from app.core.exit_codes import EXIT_OK, EXIT_UNFIT
from app.core.forwarded import exempt_from_limits
from app.core.host_check import is_our_host
from app.core.network_of import network_of
from app.core.rate import Rate
from app.core.units import ServerUs

CONNECTIONS_MAX = 4_096
"""As many clients as the service itself is measured with."""

PER_ADDRESS_MAX = 256
"""The service's own default limit per network (`SIAR_CONNECTIONS_PER_ADDRESS_MAX`)."""

SPARE_FILES = 64
"""File descriptors reserved for everything other than connections, including the refusal of one connection too many."""

MESSAGE_BYTES_MAX = 256
"""A probe has about 20 bytes."""

FRAME_RATE_HZ = 200.0
"""Sustained rate limit. The densest schedule sends a probe every 15 ms, which is 67 a second."""

FRAME_BURST_MAX = 400.0
"""Frames that may come at once from a client that was delayed and catches up."""

PROBE_MAX = 2**53 - 1
"""The largest integer that JavaScript represents exactly."""

HANDSHAKE_US_MAX = 10_000_000
IDLE_US_MAX = 300_000_000
"""A page in the background probes once a minute; a phone that vanished sends nothing."""

CLOSING_US_MAX = 1_000_000
"""Time for the client to read the close frame: closing at once, with frames unread, would reset the connection."""

SWEEP_S = 1.0
"""Interval at which deadlines are checked while there are connections."""

UNREAD_BYTES_MAX = 16_384
"""About 150 answers, in addition to what the kernel buffers."""

OVERLOADED = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Refusal(NamedTuple):
    """Close code and reason for a message that ends its connection."""

    code: CloseCode
    reason: str


def read_probe(frame: Frame) -> int | Refusal:
    """Return the number that a probe carries, or why the frame is refused."""
    if frame.opcode is not Opcode.TEXT or not frame.fin:
        return Refusal(CloseCode.UNSUPPORTED_DATA, "a probe is one text frame")
    try:
        message = json.loads(bytes(frame.data).decode("utf-8"))
    except ValueError:
        return Refusal(CloseCode.INVALID_DATA, "not JSON")
    probe = message.get("probe") if isinstance(message, dict) and len(message) == 1 else None
    if type(probe) is not int or abs(probe) > PROBE_MAX:
        return Refusal(CloseCode.UNSUPPORTED_DATA, 'send {"probe": <integer>}')
    return probe


def is_origin_accepted(request: Request, allowed_hosts: frozenset[str]) -> bool:
    """Return whether the page's host is this server's. Ports differ by design; clients other than browsers send no Origin."""
    origins, hosts = request.headers.get_all("Origin"), request.headers.get_all("Host")
    if not origins:
        return True
    if len(origins) > 1 or len(hosts) != 1:
        return False
    try:
        origin_host, host = urlsplit(origins[0]).hostname, urlsplit(f"//{hosts[0]}").hostname
    except ValueError:
        return False
    return origin_host is not None and (origin_host == host or origin_host in allowed_hosts)


def first_offered(_websocket: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """Return the first subprotocol, as on Socket.IO's WebSocket: a browser that offers some requires one to be selected."""
    return next(iter(offered), None)


def answer_handshake(websocket: ServerProtocol, request: Request) -> Response:
    """Return the library's response, but accept a list in `Upgrade`, and name version 13 in a 426 (RFC 6455, section 4.4)."""
    upgrades = [each.strip() for value in request.headers.get_all("Upgrade") for each in value.split(",")]
    if "websocket" in (each.lower() for each in upgrades):
        del request.headers["Upgrade"]
        request.headers["Upgrade"] = "websocket"
    if request.headers.get_all("Sec-WebSocket-Version") == ["13"]:
        return websocket.accept(request)
    refused = websocket.reject(426, "This server speaks version 13 of the WebSocket protocol.\n")
    refused.headers["Upgrade"] = "websocket"
    refused.headers["Sec-WebSocket-Version"] = "13"
    return refused


class ClockServer:
    """The open connections and the limits across them."""

    def __init__(
        self,
        *,
        connections_max: int,
        allowed_hosts: frozenset[str],
        per_address_max: int = PER_ADDRESS_MAX,
        trusted_proxies: Iterable[str] = (),
    ) -> None:
        self.connections_max = connections_max
        self.per_address_max = per_address_max
        self.allowed_hosts = allowed_hosts
        self.connections: dict[ClockConnection, str] = {}
        """Open connections with their clients' networks."""
        self._held: Counter[str] = Counter()
        """Number of connections by client network."""
        self._is_exempt = exempt_from_limits(trusted_proxies)
        self._next_sweep: asyncio.TimerHandle | None = None

    def enter(self, connection: ClockConnection, address: str) -> bool:
        """Add a connection; return False if the total or the network's limit is reached."""
        network = network_of(address)
        if len(self.connections) >= self.connections_max:
            return False
        if self._held[network] >= self.per_address_max and not self._is_exempt(address):
            return False
        self.connections[connection] = network
        self._held[network] += 1
        return True

    def leave(self, connection: ClockConnection) -> None:
        """Remove a connection if it was added."""
        network = self.connections.pop(connection, None)
        if network is not None:
            self._held[network] -= 1
            if not self._held[network]:
                del self._held[network]

    def sweep(self, now_us: ServerUs) -> None:
        """End the connections whose deadline has passed."""
        for connection in [one for one in self.connections if one.deadline_us < now_us]:
            connection.expire()

    def sweep_later(self) -> None:
        """Schedule a sweep, which repeats as long as there are connections; without any the process sleeps."""
        if self._next_sweep is None:
            self._next_sweep = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep_and_go_on)

    def _sweep_and_go_on(self) -> None:
        self._next_sweep = None
        self.sweep(clock.now_us())
        if self.connections:
            self.sweep_later()

    def close(self) -> None:
        """Close all connections."""
        for connection in list(self.connections):
            connection.refuse(Refusal(CloseCode.GOING_AWAY, "the server ends"))


class ClockConnection(asyncio.Protocol):
    """One client: WebSocket frames in, stamped answers out, within one callback of the event loop."""

    def __init__(self, server: ClockServer) -> None:
        self._server = server
        self._websocket = ServerProtocol(max_size=MESSAGE_BYTES_MAX, select_subprotocol=first_offered)
        self._frame_rate = Rate(per_s=FRAME_RATE_HZ, burst=FRAME_BURST_MAX)
        self.deadline_us = clock.now_us() + HANDSHAKE_US_MAX
        self._has_ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Add the connection, or refuse it with 503 at a limit."""
        self._transport = cast("asyncio.Transport", transport)
        if not self._server.enter(self, transport.get_extra_info("peername")[0]):
            self._transport.write(OVERLOADED)
            self._transport.close()
            return
        self._server.sweep_later()
        self._transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._transport.set_write_buffer_limits(high=UNREAD_BYTES_MAX)

    def data_received(self, data: bytes) -> None:
        """Take the time stamp first, then parse and answer."""
        received_us = clock.now_us()
        self._websocket.receive_data(data)
        for event in self._websocket.events_received():
            if isinstance(event, Request):
                self._websocket.send_response(self._handshake_response(event))
            elif isinstance(event, Frame) and self._websocket.state is State.OPEN:
                self._take_frame(event, received_us)
        self._flush()

    def pause_writing(self) -> None:
        """Cut off a client that does not read."""
        self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection."""
        self._server.leave(self)

    def expire(self) -> None:
        """End a connection at its deadline: with a close frame if it is open, else at once."""
        if self._websocket.state is State.OPEN:
            self.refuse(Refusal(CloseCode.GOING_AWAY, "idle"))
        else:
            self._transport.abort()

    def refuse(self, refusal: Refusal) -> None:
        """Close the connection with a code and a reason."""
        self._websocket.fail(*refusal)
        self._flush()

    def _handshake_response(self, request: Request) -> Response:
        allowed_hosts = self._server.allowed_hosts
        hosts = request.headers.get_all("Host")
        if len(hosts) != 1:  # RFC 9112, section 3.2.
            return self._websocket.reject(400, "A request names one host.\n")
        if not is_our_host(hosts[0], allowed_hosts):
            return self._websocket.reject(421, "No server goes by this name here.\n")
        if not is_origin_accepted(request, allowed_hosts):
            return self._websocket.reject(403, "The page comes from another host.\n")
        self.deadline_us = clock.now_us() + IDLE_US_MAX
        return answer_handshake(self._websocket, request)

    def _take_frame(self, frame: Frame, received_us: ServerUs) -> None:
        if self._frame_rate.wait_us(received_us) > 0:
            self._websocket.fail(CloseCode.POLICY_VIOLATION, "too many frames")
            return
        self.deadline_us = received_us + IDLE_US_MAX
        if frame.opcode in (Opcode.PING, Opcode.PONG):
            return
        probe = read_probe(frame)
        if isinstance(probe, Refusal):
            self._websocket.fail(*probe)
        else:
            self._websocket.send_text(_answer(probe, received_us))

    def _flush(self) -> None:
        for data in self._websocket.data_to_send():
            if self._has_ended or self._transport.is_closing():
                return  # Nothing can be written after the end.
            if data:
                self._transport.write(data)
            else:
                self._end_writing()

    def _end_writing(self) -> None:
        """Half-close, so that the client can read what was written; the sweep closes the connection."""
        self._has_ended = True
        self.deadline_us = clock.now_us() + CLOSING_US_MAX
        if not self._transport.can_write_eof():  # TLS cannot half-close; `close` writes what is queued first.
            self._transport.close()
            return
        # The client may have gone already.
        with contextlib.suppress(OSError):
            self._transport.write_eof()


def _answer(probe: int, received_us: ServerUs) -> bytes:
    head = f'{{"probe":{probe},"received_us":{received_us},"timebase":"{clock.timebase()}","sent_us":'
    return f"{head}{clock.now_us()}}}".encode()


async def serve(
    listener: socket.socket, clock_server: ClockServer, tls: ssl.SSLContext | None = None
) -> None:
    """Answer probes until standard input ends or a signal arrives."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # The server decides what it means.
    server = await loop.create_server(
        lambda: ClockConnection(clock_server),
        sock=listener,
        backlog=CONNECTIONS_MAX,
        ssl=tls,
        ssl_handshake_timeout=HANDSHAKE_US_MAX / 1e6 if tls else None,
    )
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    threading.Thread(target=_wait_for_parent, args=(loop, ended), daemon=True).start()
    await ended.wait()
    server.close()
    clock_server.close()


def _wait_for_parent(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    """Read standard input to its end, in a thread, because epoll supports pipes but neither files nor /dev/null."""
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    # After a signal the loop may be closed already.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(ended.set)


def _listen(host: str, port: int, *, preferred: int = 0) -> socket.socket:
    """Return a listening socket that is never shared with another process. Raises `OSError`."""
    if port == 0 and preferred:
        with contextlib.suppress(OSError, OverflowError):
            return _listen(host, preferred)
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    is_dual = family == socket.AF_INET6 and host == "::" and socket.has_dualstack_ipv6()
    return socket.create_server(address[:2], family=family, backlog=CONNECTIONS_MAX, dualstack_ipv6=is_dual)


def _connections_max() -> int:
    """Return how many connections file descriptors allow. Raises the soft limit, often 1,024, as far as needed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS_MAX + SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return CONNECTIONS_MAX
    lifted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lifted, hard))
    return max(1, lifted - SPARE_FILES)


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m app.server.clock_process", description="Answers clock probes."
    )
    parser.add_argument("--host", required=True, help="address to listen on")
    parser.add_argument("--port", required=True, type=int, help="0: any free port")
    parser.add_argument("--preferred-port", default=0, type=int, help="then this one, if it is free")
    parser.add_argument("--anchor-us", required=True, type=int, help="added to CLOCK_MONOTONIC, microseconds")
    parser.add_argument("--timebase", required=True, type=_hexadecimal, help="names the anchor")
    parser.add_argument(
        "--allowed-host", nargs="*", default=[], metavar="HOST", help="further names of this server"
    )
    parser.add_argument(
        "--per-address-max", type=int, default=PER_ADDRESS_MAX, help="connections of one address"
    )
    parser.add_argument(
        "--trusted-proxy", nargs="*", default=[], metavar="NETWORK", help="not counted; then loopback is"
    )
    parser.add_argument("--tls-cert", metavar="PEM", help="certificate: the channel is then wss://")
    parser.add_argument("--tls-key", metavar="PEM", help="and its key")
    return parser.parse_args(arguments)


def _tls(options: argparse.Namespace) -> ssl.SSLContext | None:
    """Return the TLS context that pages served over HTTPS need, or `None`. Raises `OSError`."""
    if options.tls_cert is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(options.tls_cert, options.tls_key)
    return context


def _hexadecimal(text: str) -> str:
    int(text, 16)
    return text


def main(arguments: list[str]) -> int:
    """Run until the parent is gone; return the exit code."""
    options = _arguments(arguments)
    clock.fix(anchor_us=options.anchor_us, timebase=options.timebase)
    try:
        tls = _tls(options)
        listener = _listen(options.host, options.port, preferred=options.preferred_port)
    except (OSError, OverflowError) as error:
        print(f"The clock cannot listen on {options.host} port {options.port}: {error}.", file=sys.stderr)
        return EXIT_UNFIT
    clock_server = ClockServer(
        connections_max=_connections_max(),
        allowed_hosts=frozenset(host.lower() for host in options.allowed_host),
        per_address_max=options.per_address_max,
        trusted_proxies=options.trusted_proxy,
    )
    asyncio.run(serve(listener, clock_server, tls))
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
