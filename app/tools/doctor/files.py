"""How many connections the kernel lets a server have: each is an open file."""

from __future__ import annotations

import resource

from app.server.wsgi.descriptors import SPARE
from app.tools.doctor.finding import Finding, fail, ok, warn
from app.tools.doctor.subject import Subject

NAME = "files"

ROOM_FOR_PHONES = 300
"""A room of 200, each with its stream and a request beside it now and then."""

ROOM_FOR_LOAD = 3_000


def look(subject: Subject) -> Finding:
    """Room for connections, by the limit that a server raises itself to."""
    return judge(resource.getrlimit(resource.RLIMIT_NOFILE)[1], subject.connections_max)


def judge(limit: int, wanted: int) -> Finding:
    """`limit`: open files that this user may have at most."""
    room = wanted if limit == resource.RLIM_INFINITY else min(wanted, max(0, limit - SPARE))
    places = {"room": f"{room:,}", "limit": f"{limit:,}"}
    if room < min(ROOM_FOR_PHONES, wanted):
        return fail(NAME, "few", **places)
    if room < min(ROOM_FOR_LOAD, wanted):
        return warn(NAME, "no_load", **places)
    return ok(NAME, "enough", **places)
