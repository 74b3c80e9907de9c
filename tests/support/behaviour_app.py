"""Siar with additional Socket.IO events for tests: `gunicorn -c gunicorn.conf.py tests.support.behaviour_app:app`.

They cover documented features of Flask-SocketIO that must work on our server: rooms, namespaces, acknowledgements,
binary data, refusal.
"""

from __future__ import annotations

from typing import Any

import flask
import flask_socketio

from app.server.factory import create_app
from app.server.fanout.closed import CLOSED_DRAIN
from tests.support.transports import socketio_of

app = create_app()
_socketio = socketio_of(app).socketio

_names: dict[str, str] = {}
"""Names of the clients in `/chat`."""

_departures: list[tuple[str, str]] = []
"""Clients that left `/chat`, with the library's reason."""


def _sid() -> str:
    return str(flask.request.sid)  # type: ignore[attr-defined]


@_socketio.on("echo")
def echo(*arguments: Any) -> tuple[Any, ...]:
    return arguments


@_socketio.on("say")
def say(*arguments: Any) -> None:
    flask_socketio.emit("said", arguments)


@_socketio.on("ask")
def ask(question: Any) -> None:
    """Ask the client with an acknowledgement, and send it the answer back."""
    sid = _sid()
    flask_socketio.emit(
        "question", question, callback=lambda *answer: _socketio.emit("answered", list(answer), to=sid)
    )


@_socketio.on("join")
def join(room: str) -> str:
    flask_socketio.join_room(room)
    return "joined"


@_socketio.on("leave")
def leave(room: str) -> str:
    flask_socketio.leave_room(room)
    return "left"


@_socketio.on("tell")
def tell(room: str | None, text: str) -> str:
    """Send a text to a room, or to everybody."""
    _socketio.emit("told", (room, text), to=room)
    return "told"


@_socketio.on("kick")
def kick() -> None:
    """Disconnect the client with the protocol's DISCONNECT."""
    flask_socketio.disconnect()


@_socketio.on("cut")
def cut() -> None:
    """End the client's session, as a server does when it shuts down."""
    socketio_of(app).end(_sid(), CLOSED_DRAIN)


@_socketio.on("departures")
def departures() -> list[tuple[str, str]]:
    return _departures


@_socketio.on("connect", namespace="/chat")
def chat_connect(auth: Any = None) -> None:
    name = (auth or {}).get("name")
    if not name:
        raise flask_socketio.ConnectionRefusedError("Tell your name.")
    _names[_sid()] = name
    flask_socketio.emit("welcome", name)


@_socketio.on("disconnect", namespace="/chat")
def chat_disconnect(reason: str) -> None:
    _departures.append((_names.pop(_sid()), reason))


@_socketio.on("echo", namespace="/chat")
def chat_echo(*arguments: Any) -> tuple[Any, ...]:
    return "chat", *arguments


@_socketio.on("say", namespace="/chat")
def chat_say(text: str) -> None:
    flask_socketio.emit("said", text)


@_socketio.on("kick", namespace="/chat")
def chat_kick() -> None:
    flask_socketio.disconnect()
