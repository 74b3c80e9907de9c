"""A user of `GET /events`."""

from app.core.wire import TRANSPORT_SSE
from loadtests.users.base import PushUser


class SseUser(PushUser):
    """Server-Sent Events on a raw socket."""

    transport = TRANSPORT_SSE
