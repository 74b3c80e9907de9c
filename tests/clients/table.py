"""The clients that others wrote: the one table of them. Versions are in each folder's lock file, and in docs/clients.md."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Client:
    """A program of this folder, which says in lines of JSON what its library hands it."""

    name: str
    language: str
    program: str
    arguments: tuple[str, ...] = ()
    """After the server's URL."""
    has_handlers_in_threads: bool = False
    """Its library calls each handler in a thread of its own: what comes at once is handled in any order."""


CLIENTS = (
    Client("eventsource 4", "js", "event_source.mjs", ("eventsource-4",)),
    Client("eventsource 1", "js", "event_source.mjs", ("eventsource-1",)),
    Client("event-source-polyfill", "js", "event_source.mjs", ("event-source-polyfill",)),
    Client("eventsource-client", "js", "eventsource_client.mjs"),
    Client("fetch-event-source", "js", "fetch_event_source.mjs"),
    Client("socket.io-client 4, WebSocket", "js", "socket_io.mjs", ("socket.io-client", "websocket")),
    Client("socket.io-client 4, polling", "js", "socket_io.mjs", ("socket.io-client", "polling")),
    Client("socket.io-client 3, WebSocket", "js", "socket_io.mjs", ("socket.io-client3", "websocket")),
    Client("socket.io-client 3, polling", "js", "socket_io.mjs", ("socket.io-client3", "polling")),
    Client("httpx-sse", "python", "httpx_sse_client.py"),
    Client("sseclient-py", "python", "sseclient_py_client.py"),
    Client("aiohttp-sse-client", "python", "aiohttp_client.py"),
    Client("requests", "python", "requests_client.py"),
    Client(
        "python-socketio, WebSocket",
        "python",
        "socketio_client.py",
        ("websocket",),
        has_handlers_in_threads=True,
    ),
    Client(
        "python-socketio, polling", "python", "socketio_client.py", ("polling",), has_handlers_in_threads=True
    ),
    Client("r3labs/sse", "go", "clients", ("r3labs",)),
    Client("tmaxmax/go-sse", "go", "clients", ("tmaxmax",)),
    Client("launchdarkly/eventsource", "go", "clients", ("launchdarkly",)),
    Client("JDK HttpClient", "java", "JdkClient"),
    Client("okhttp-sse", "java", "OkHttpSse"),
)
