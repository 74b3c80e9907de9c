"""A TCP proxy that simulates a bad network: latency, jitter, low bandwidth, small segments, freezes, resets.

    client <== this ==> server        per direction, one task reads and stamps, another writes what is due

Its buffers are bounded, so that a peer that does not read causes backpressure through it. It has an event loop and a
thread of its own; random choices are seeded.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

READ_BYTES = 16_384

PIECES_WAITING_MAX = 64

STOP_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Line:
    """Properties of the line, applied to each connection separately."""

    latency_s: float = 0.0
    jitter_s: float = 0.0
    """Upper bound of an additional random delay per piece; pieces never overtake each other."""
    bytes_per_s: float | None = None
    """Bandwidth; `None`: unlimited."""
    slice_bytes: int | None = None
    """Maximum size of a piece."""
    torn_after_bytes: tuple[int, int] | None = None
    """Reset both ends after so many bytes from the server: a random number in this range for each connection."""


class BadLine:
    """Listens on a free port of loopback during its block."""

    def __init__(self, target_port: int, line: Line, *, seed: int = 1) -> None:
        self.tears = 0
        """Number of connections that were reset."""
        self._line = line
        self._target_port = target_port
        self._dice = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._flows = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="bad-line", daemon=True)

    def __enter__(self) -> BadLine:
        self._thread.start()
        self._server = self._call(self._listen())
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    def __exit__(self, *_error: object) -> None:
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_TIMEOUT_S)
        self._loop.close()

    def freeze(self) -> None:
        """Stop all traffic without closing any connection."""
        self._loop.call_soon_threadsafe(self._flows.clear)

    def thaw(self) -> None:
        """Resume traffic, including what was held back."""
        self._loop.call_soon_threadsafe(self._flows.set)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _call(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(STOP_TIMEOUT_S)

    async def _listen(self) -> asyncio.Server:
        self._flows.set()
        return await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def _end(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        writers = [to_client]
        try:
            server, to_server = await asyncio.open_connection("127.0.0.1", self._target_port)
            writers.append(to_server)
            left = (
                None
                if self._line.torn_after_bytes is None
                else self._dice.randint(*self._line.torn_after_bytes)
            )
            ways = [
                asyncio.ensure_future(self._carry(client, to_server, None)),
                asyncio.ensure_future(self._carry(server, to_client, left)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            pass  # The server is down, or the test has ended.
        finally:
            for writer in writers:
                _reset(writer)
            self._tasks.discard(task)

    async def _carry(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, left_bytes: int | None
    ) -> None:
        """Forward one direction, until either end closes or the line is reset."""
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(PIECES_WAITING_MAX)
        reading = asyncio.ensure_future(self._read(source, pieces))
        try:
            while True:
                due_s, data = await pieces.get()
                await asyncio.sleep(max(0.0, due_s - self._loop.time()))
                await self._flows.wait()
                torn = left_bytes is not None and len(data) >= left_bytes
                sink.write(data[:left_bytes])
                await sink.drain()
                if torn:
                    self.tears += 1
                if torn or not data:
                    return
                if left_bytes is not None:
                    left_bytes -= len(data)
        finally:
            reading.cancel()

    async def _read(self, source: asyncio.StreamReader, pieces: asyncio.Queue[tuple[float, bytes]]) -> None:
        line, due_s = self._line, 0.0
        while True:
            await self._flows.wait()
            try:
                data = await source.read(line.slice_bytes or READ_BYTES)
            except OSError:
                data = b""
            now_s = self._loop.time()
            late_s = line.latency_s + self._dice.uniform(0, line.jitter_s)
            narrow_s = len(data) / line.bytes_per_s if line.bytes_per_s else 0.0
            due_s = max(due_s, now_s + late_s) + narrow_s
            await pieces.put((due_s, data))
            if not data:
                return


def _reset(writer: asyncio.StreamWriter) -> None:
    """Reset a connection."""
    sock = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
