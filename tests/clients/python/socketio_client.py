"""python-socketio. argv: URL, transport.

It calls each handler in a thread of its own, so that the last to run need not be that of the last notification: the
position goes forward only.
"""

import sys
from typing import Any

import socketio
from reporting import report

client = socketio.Client()
position: dict[str, str] = {}
newest = [0]


@client.on("connect")
def _opened() -> None:
    report("open")


@client.on("disconnect")
def _closed(reason: str) -> None:
    report("error", message=reason)


@client.on("notification")
def _notified(event: dict[str, Any], *_id: str) -> None:
    if event["offset"] > newest[0]:
        newest[0], position["last_event_id"] = event["offset"], event["id"]
    report("notification", **event)


@client.on("gap")
def _missed(event: dict[str, Any], *_id: str) -> None:
    newest[0], position["last_event_id"] = event["to"], event["id"]
    report("gap", **event)


client.connect(sys.argv[1], auth=lambda: dict(position), transports=[sys.argv[2]])
client.wait()
report("error", message="it does not come back")
