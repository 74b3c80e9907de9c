"""A user of `/socket.io/` by long-polling: one HTTP request after the other on a connection that is kept."""

from app.core.speech import POLLING
from loadtests.users.base import PushUser


class SocketIoPollingUser(PushUser):
    """Socket.IO 5 that never becomes a WebSocket; named explicitly where it is wanted."""

    transport = POLLING
    weight = 0
