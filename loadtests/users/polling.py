"""User of `/socket.io/` by long-polling: sequential HTTP requests on one kept-alive connection.

With Locust by itself: `locust -f loadtests/locustfile.py,loadtests/users/polling.py SocketIoPollingUser`.
"""

from app.core.client import POLLING
from loadtests.users.base import PushUser


class SocketIoPollingUser(PushUser):
    """User of Socket.IO 5 without an upgrade to WebSocket."""

    transport = POLLING
