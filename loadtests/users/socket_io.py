"""A user of `/socket.io/` over WebSocket."""

from app.core.wire import TRANSPORT_SOCKETIO
from loadtests.users.base import PushUser


class SocketIoUser(PushUser):
    """Socket.IO 5 over a WebSocket from the first byte, on a raw socket."""

    transport = TRANSPORT_SOCKETIO
