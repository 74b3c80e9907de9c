"""User of `GET /events` (Server-Sent Events)."""

from app.core.wire import TRANSPORT_SSE
from loadtests.users.base import PushUser


class SseUser(PushUser):
    """User of Server-Sent Events on a raw socket."""

    transport = TRANSPORT_SSE
