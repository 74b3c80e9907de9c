"""The floor, a server that only calls `send` for each of N sockets: `python -m app.tools.bench.floor`.

It has one thread, one epoll for accepting and HTTP, and for each notification a plain loop of `send`. It supports just
enough HTTP, SSE and Socket.IO for the same swarm and publisher; it has no history, heartbeat or limits, and merges
nothing. It prints the port that it listens on, and ends when its standard input ends.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import socket

from app import clock
from app.core.protocol.event_stream import CONTENT_TYPE, encode_prelude
from app.core.protocol.http_response import chunk
from app.core.protocol.websocket import Opcode, accept_of, encode_frame
from app.core.wire import TRANSPORT_SOCKETIO, TRANSPORT_SSE
from app.tools.bench import wire
from app.tools.bench.machine import raise_open_files

BACKLOG = 4096
READ_BYTES = 65_536
EPOCH = "floor000"

_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_KEY = re.compile(rb"\r\nsec-websocket-key: *([^\r]+)", re.IGNORECASE)
_PARENT_FD = 0


class Peer:
    """One connection: HTTP at first, later possibly a subscriber."""

    __slots__ = ("buffer", "fd", "sock", "transport", "unsent")

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.fd = sock.fileno()
        self.buffer = b""
        self.transport: str | None = None
        """`None`: the connection uses HTTP."""
        self.unsent = b""


class Floor:
    """The event loop of the floor."""

    def __init__(self, listener: socket.socket, *, send_buffer_bytes: int) -> None:
        self._listener = listener
        self._send_buffer_bytes = send_buffer_bytes
        self._poll = select.epoll()
        self._poll.register(_PARENT_FD, select.EPOLLIN)
        self._poll.register(listener, select.EPOLLIN)
        self._peers: dict[int, Peer] = {}
        self._subscribers: dict[str, dict[int, Peer]] = {TRANSPORT_SSE: {}, TRANSPORT_SOCKETIO: {}}
        """Subscribers by transport."""
        self._waiting: dict[int, Peer] = {}
        """Subscribers whose socket did not accept everything."""
        self._offset = 0

    def run(self) -> None:
        """Run until standard input ends."""
        while True:
            for fd, mask in self._poll.poll():
                if fd == _PARENT_FD:
                    return
                if fd == self._listener.fileno():
                    self._accept()
                elif (peer := self._peers.get(fd)) is not None:
                    self._serve(peer, mask)

    def _accept(self) -> None:
        for _ in range(64):
            try:
                sock, _address = self._listener.accept()
            except BlockingIOError:
                return
            sock.setblocking(False)  # noqa: FBT003 - the standard library's signature
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer = self._peers[sock.fileno()] = Peer(sock)
            self._poll.register(peer.fd, select.EPOLLIN)

    def _serve(self, peer: Peer, mask: int) -> None:
        try:
            if mask & select.EPOLLOUT:
                self._flush(peer)
            if mask & ~select.EPOLLOUT:
                data = peer.sock.recv(READ_BYTES)
                if not data:
                    raise ConnectionResetError
                self._read(peer, data)
        except BlockingIOError:
            pass
        except OSError:
            self._drop(peer)

    def _drop(self, peer: Peer) -> None:
        for table in (self._peers, self._waiting, *self._subscribers.values()):
            table.pop(peer.fd, None)
        peer.sock.close()

    def _read(self, peer: Peer, data: bytes) -> None:
        subscribers = self._subscribers[TRANSPORT_SOCKETIO]
        if peer.transport == TRANSPORT_SOCKETIO and peer.fd not in subscribers:
            # Any data is the swarm's CONNECT.
            sid = f'40{{"sid":"{peer.fd:020}","position":"{EPOCH}.{self._offset}"}}'
            peer.sock.sendall(encode_frame(Opcode.TEXT, sid.encode(), mask=None))
            subscribers[peer.fd] = peer
        if peer.transport is not None:
            return
        peer.buffer += data
        head, found, body = peer.buffer.partition(_HEAD_END)
        length = _LENGTH.search(head)
        if found and len(body) >= (int(length[1]) if length else 0):
            peer.buffer = b""
            self._answer(peer, head, body)

    def _answer(self, peer: Peer, head: bytes, body: bytes) -> None:
        path = head.split(b" ", 2)[1].decode("latin-1")
        if path.startswith("/events"):
            self._begin_events(peer)
        elif path.startswith("/socket.io/"):
            self._begin_frames(peer, head)
        else:
            status, answer = self._handle(path, json.loads(body) if body else {})
            text = json.dumps(answer).encode()
            peer.sock.sendall(
                f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(text)}\r\n\r\n".encode()
                + text
            )

    def _begin_events(self, peer: Peer) -> None:
        head = (
            f"HTTP/1.1 200 OK\r\nContent-Type: {CONTENT_TYPE}\r\n"
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        ).encode()
        self._subscribe(peer, TRANSPORT_SSE)
        peer.sock.sendall(head + chunk(encode_prelude(retry_ms=1000, id=f"{EPOCH}.{self._offset}")))
        self._subscribers[TRANSPORT_SSE][peer.fd] = peer

    def _begin_frames(self, peer: Peer, head: bytes) -> None:
        key = _KEY.search(head)
        accept = accept_of(key[1].decode("latin-1").strip()) if key else ""
        lines = ("101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade")
        answer = "\r\n".join((f"HTTP/1.1 {lines[0]}", *lines[1:], f"Sec-WebSocket-Accept: {accept}"))
        opening_data = {"sid": f"{peer.fd:020}", "upgrades": [], "pingInterval": 25000, "pingTimeout": 20000}
        opening = encode_frame(Opcode.TEXT, f"0{json.dumps(opening_data)}".encode(), mask=None)
        self._subscribe(peer, TRANSPORT_SOCKETIO)
        peer.sock.sendall(f"{answer}\r\n\r\n".encode() + opening)

    def _subscribe(self, peer: Peer, transport: str) -> None:
        peer.transport = transport
        peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer_bytes)

    # --- requests of the publisher -----------------------------------------------------------------------------

    def _handle(self, path: str, body: dict[str, int]) -> tuple[str, dict[str, object]]:
        if path == wire.PUBLISH_PATH:
            self._publish()
            published = {"id": f"{EPOCH}.{self._offset}", "offset": self._offset}
            return "201 Created", {**published, "recipients": self._counts()}
        if path == wire.BURST_PATH:
            starts_us = []
            for _ in range(body["count"]):
                starts_us.append(clock.monotonic_us())
                self._publish()
                self._flush_all()
            return "200 OK", {"starts_us": starts_us, "offset": self._offset}
        if path == wire.BLAST_PATH:
            begun_us = clock.monotonic_us()
            for _ in range(body["count"] // body["merged"]):
                self._publish(merged=body["merged"])
                self._flush_all()
            return "200 OK", {"starts_us": [begun_us] * body["count"], "offset": self._offset}
        return "200 OK", {"recipients": self._counts(), "paths": {"floor": sum(self._counts().values())}}

    def _counts(self) -> dict[str, int]:
        return {transport: len(subscribers) for transport, subscribers in self._subscribers.items()}

    def _publish(self, merged: int = 1) -> None:
        """Encode once, then call `send` for each subscriber: the reference for all other servers."""
        published = [wire.notification(EPOCH, self._offset + 1 + each) for each in range(merged)]
        self._offset += merged
        for transport, subscribers in self._subscribers.items():
            if subscribers:
                self._send(
                    list(subscribers.values()), b"".join(wire.frame(each, transport) for each in published)
                )

    def _send(self, peers: list[Peer], data: bytes) -> None:
        size = len(data)
        for peer in peers:
            try:
                sent = 0 if peer.unsent else peer.sock.send(data)
            except BlockingIOError:
                sent = 0
            except OSError:
                self._drop(peer)
                continue
            if sent != size:
                self._keep_unsent(peer, data[sent:])

    def _keep_unsent(self, peer: Peer, data: bytes) -> None:
        if not peer.unsent:
            self._poll.modify(peer.fd, select.EPOLLIN | select.EPOLLOUT)
        peer.unsent += data
        self._waiting[peer.fd] = peer

    def _flush_all(self) -> None:
        """Try all subscribers with unsent data; within a burst, the loop does not poll for writable sockets."""
        for peer in list(self._waiting.values()):
            try:
                self._flush(peer)
            except BlockingIOError:
                pass
            except OSError:
                self._drop(peer)

    def _flush(self, peer: Peer) -> None:
        peer.unsent = peer.unsent[peer.sock.send(peer.unsent) :] if peer.unsent else b""
        if not peer.unsent:
            self._waiting.pop(peer.fd, None)
            self._poll.modify(peer.fd, select.EPOLLIN)


def main() -> None:
    """Run until standard input ends."""
    parser = argparse.ArgumentParser(prog="python -m app.tools.bench.floor")
    parser.add_argument("--send-buffer-bytes", type=int, required=True)
    arguments = parser.parse_args()
    raise_open_files()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(BACKLOG)
        listener.setblocking(False)  # noqa: FBT003 - the standard library's signature
        os.write(1, f"{listener.getsockname()[1]}\n".encode())
        Floor(listener, send_buffer_bytes=arguments.send_buffer_bytes).run()


if __name__ == "__main__":
    main()
