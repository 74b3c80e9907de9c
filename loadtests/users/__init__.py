"""Locust users by transport, each in its own file."""

from __future__ import annotations

from collections.abc import Mapping

from loadtests.users.base import PushUser
from loadtests.users.polling import SocketIoPollingUser
from loadtests.users.socket_io import SocketIoUser
from loadtests.users.sse import SseUser

__all__ = ["USERS", "PushUser", "SocketIoPollingUser", "SocketIoUser", "SseUser"]

USERS: Mapping[str, type[PushUser]] = {
    each.transport: each for each in (SseUser, SocketIoUser, SocketIoPollingUser)
}
