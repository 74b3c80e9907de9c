"""User of `/socket.io/` over WebSocket."""

from app.core.wire import TRANSPORT_SOCKETIO
from loadtests.users.base import PushUser


class SocketIoUser(PushUser):
    """User of Socket.IO 5 over WebSocket without polling before it, on a raw socket."""

    transport = TRANSPORT_SOCKETIO
