"""Requests part before the library sees them, and leave nothing behind that only the collector of cycles takes away."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import flask
import pytest

from app.server.factory import create_app
from app.server.transports.socket_io.dispatcher import SocketIoDispatcher
from app.settings import Settings


def unused(*_answer: object) -> None:
    """Start a response: what serves in these tests does not."""


class Served:
    """Notes what it is called with."""

    def __init__(self) -> None:
        self.environs: list[dict[str, Any]] = []

    def __call__(self, environ: dict[str, Any], _start_response: Any) -> list[bytes]:
        self.environs.append(environ)
        return [b"served"]


@pytest.fixture
def socket_io() -> Served:
    return Served()


@pytest.fixture
def elsewhere() -> Served:
    return Served()


@pytest.fixture
def entrance(socket_io: Served, elsewhere: Served) -> SocketIoDispatcher:
    middleware = SimpleNamespace(
        engineio_app=SimpleNamespace(handle_request=socket_io),
        engineio_path="/socket.io/",
        flask_app="the app",
    )
    return SocketIoDispatcher(elsewhere, middleware)


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("path", ["/", "/events", "/socket.io", "/socket.iox/", "", None])
def test_a_request_that_is_none_of_socket_io_goes_by_as_it_is(
    path: str | None, entrance: SocketIoDispatcher, socket_io: Served, elsewhere: Served
) -> None:
    environ = {"PATH_INFO": path, "gunicorn.socket": "a socket"}

    assert list(entrance(environ, unused)) == [b"served"]

    assert elsewhere.environs[0] is environ
    assert environ == {"PATH_INFO": path, "gunicorn.socket": "a socket"}
    assert socket_io.environs == []


def test_a_request_of_socket_io_is_kept_as_a_copy_with_what_the_libraries_look_for(
    entrance: SocketIoDispatcher, socket_io: Served, elsewhere: Served
) -> None:
    environ = {"PATH_INFO": "/socket.io/", "gunicorn.socket": "a socket"}

    assert list(entrance(environ, unused)) == [b"served"]
    assert list(entrance({"PATH_INFO": "/socket.io/more"}, unused)) == [b"served"]

    first, second = socket_io.environs
    assert first.pop("eventlet.input").get_socket() == "a socket"
    assert first == {"PATH_INFO": "/socket.io/", "gunicorn.socket": "a socket", "flask.app": "the app"}
    assert second == {"PATH_INFO": "/socket.io/more", "flask.app": "the app"}, "other servers have their own"
    assert "flask.app" not in environ
    assert elsewhere.environs == []


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("path", ["/version", "/nowhere", "/socket.io/?EIO=3"])
def test_a_request_leaves_no_request_context(path: str, tmp_path: Path) -> None:
    client = create_app(Settings(admin_token="t", runs_dir=tmp_path)).test_client()
    client.get(path)

    left = [each for each in gc.get_objects() if isinstance(each, flask.ctx.RequestContext)]

    assert left == []


@pytest.mark.usefixtures("no_collector")
def test_an_event_of_socket_io_leaves_no_request_context(tmp_path: Path) -> None:
    app = create_app(Settings(admin_token="t", runs_dir=tmp_path))

    with app.test_request_context("/socket.io/"):  # What flask_socketio makes around each event.
        assert flask.request.routing_exception is not None

    left = [each for each in gc.get_objects() if isinstance(each, flask.ctx.RequestContext)]
    assert left == []
