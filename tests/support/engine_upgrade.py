"""An Engine.IO polling session on its way to a WebSocket, stopped at each of the three steps."""

from __future__ import annotations

from websockets.sync.client import ClientConnection

from tests.support.patience import PATIENCE_S
from tests.support.protocol_server import Polling


def probing(polling: Polling) -> ClientConnection:
    """Open a WebSocket for the session, without sending anything."""
    return polling.endpoint.websocket(f"EIO=4&transport=websocket&sid={polling.sid}")


def probed(polling: Polling) -> ClientConnection:
    """Open a WebSocket whose probe was answered."""
    connection = probing(polling)
    connection.send("2probe")
    assert connection.recv(timeout=PATIENCE_S) == "3probe"
    return connection


def upgraded(polling: Polling) -> ClientConnection:
    """Open a WebSocket that has taken over the session."""
    connection = probed(polling)
    connection.send("5")
    polling.wait_until(lambda state: state.get("is_upgraded"))
    return connection
