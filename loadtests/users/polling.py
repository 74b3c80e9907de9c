"""A user of `/socket.io/` by long-polling: one HTTP request after the other on a connection that is kept.

With Locust by itself: `locust -f loadtests/locustfile.py,loadtests/users/polling.py SocketIoPollingUser`.
"""

from app.core.client import POLLING
from loadtests.users.base import PushUser


class SocketIoPollingUser(PushUser):
    """Socket.IO 5 that never becomes a WebSocket."""

    transport = POLLING
