"""The name of a session that may be recovered: all that it restores is in it."""

from __future__ import annotations

import pytest

from app.core.position import UNKNOWN, Position
from app.server.transports.socket_io.recovery import RecoverableSession, parse_pid

SESSION = RecoverableSession("PEeFnTMjbEXiCE-GAAAB", Position("e_-1", 7))


def test_a_name_says_the_session() -> None:
    assert SESSION.pid == "PEeFnTMjbEXiCE-GAAAB.e_-1.7"
    assert parse_pid(SESSION.pid) == SESSION


@pytest.mark.parametrize(
    "pid",
    [
        "",
        "guessed",
        "a.b",
        ".",
        "x.e.7.8",
        "x" * 5000,
        "abc.e.-1",
        "<b>.e.7",
        "ü.e.7",
        ".e.7",
        "x\n.e.7",
        "x.e.7\n",
    ],
)
def test_what_is_no_name_of_ours_came_in_nowhere(pid: str) -> None:
    assert parse_pid(pid).joined_at == UNKNOWN
