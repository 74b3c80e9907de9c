"""python-socketio's own client, controlled by a test: prints one JSON line per event.

The counterpart of tests/js/interop_client.mjs, with the same options, commands and reports.
Usage: python -m tests.support.interop_client URL '{"transports": ["websocket"]}'; ends when stdin does.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import sys
import threading
import time
from typing import Any

import engineio
import engineio.payload
import socketio

# By default it rejects more than 16 packets per poll as an attack; its documentation suggests this setting.
engineio.payload.Payload.max_decode_packets = 10_000

_output = threading.Lock()


def report(kind: str, **more: Any) -> None:
    with _output:
        print(json.dumps({"kind": kind, **more}), flush=True)


def packed(value: Any) -> Any:
    """Encode a value for JSON, where bytes become {"base64": "..."}."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, list | tuple):
        return [packed(each) for each in value]
    return {key: packed(each) for key, each in value.items()} if isinstance(value, dict) else value


def unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [unpacked(each) for each in value]
    if isinstance(value, dict):
        if "base64" in value:
            return base64.b64decode(value["base64"])
        return {key: unpacked(each) for key, each in value.items()}
    return value


class _InOrder(engineio.Client):  # type: ignore[misc]  # the library ships no types
    """The library's client without a thread per message, which would lose the order of messages."""

    def _trigger_event(self, event: str, *arguments: Any, **options: Any) -> Any:
        return super()._trigger_event(event, *arguments, **options | {"run_async": False})

    def disconnect(self, abort: bool = False, reason: str | None = None) -> None:
        """Write what is queued before disconnecting; the library would stop writing at once."""
        while not abort and self.write_loop_task is not None and self.queue.unfinished_tasks:
            time.sleep(0.005)
        super().disconnect(abort, reason)


class _Client(socketio.Client):  # type: ignore[misc]  # the library ships no types
    def _engineio_client_class(self) -> type[engineio.Client]:
        return _InOrder


class Talking:
    """The client, which reports what it receives."""

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        self._last_event_id: str | None = None
        self._auth = options.get("auth") or {}
        namespaces = options.get("namespaces", ["/"])
        delay_s = options.get("reconnectionDelay", 1000) / 1000
        self.client = _Client(
            reconnection=options.get("reconnection", False),
            reconnection_delay=delay_s,
            reconnection_delay_max=delay_s,
            randomization_factor=0,
        )
        for namespace in namespaces:
            self._listen(namespace)
        self.client.connect(
            url,
            transports=options.get("transports"),
            auth=self._resuming if options.get("resume") else options.get("auth"),
            namespaces=namespaces,
            wait=False,
        )

    def _resuming(self) -> dict[str, Any]:
        return self._auth | ({"last_event_id": self._last_event_id} if self._last_event_id else {})

    def _listen(self, namespace: str) -> None:
        def connected() -> None:
            report("connect", namespace=namespace, transport=self.client.transport())
            if namespace == "/":
                report("transport", name=self.client.transport())

        def came(event: str, *arguments: Any) -> tuple[Any, ...]:
            if event == "notification":
                self._last_event_id = arguments[0]["id"]
            report("event", namespace=namespace, event=event, args=packed(arguments))
            return ("answer", *arguments)

        def refused(data: Any = None) -> None:
            report(
                "connect_error",
                namespace=namespace,
                message=data["message"] if isinstance(data, dict) else data,
            )

        def left(reason: str) -> None:
            report("disconnect", namespace=namespace, reason=reason)

        for event, handler in (
            ("connect", connected), ("*", came), ("connect_error", refused), ("disconnect", left)
        ):  # fmt: skip
            self.client.on(event, handler, namespace=namespace)

    def obey(self, line: str) -> None:
        if line == "break":
            self.client.eio.ws.sock.shutdown(socket.SHUT_RDWR)
            return
        command = json.loads(line)
        namespace = command["namespace"]
        if command["do"] == "disconnect":
            self.client.disconnect()
            return
        answered = None if command["do"] == "emit" else lambda *args: report("ack", args=packed(args))
        arguments = tuple(unpacked(command["args"]))
        self.client.emit(command["event"], arguments, namespace=namespace, callback=answered)


if __name__ == "__main__":
    talking = Talking(sys.argv[1], json.loads(sys.argv[2]))
    for each in sys.stdin:
        talking.obey(each.strip())
    talking.client.shutdown()
    os._exit(0)  # Do not wait for the library's threads.
