"""Texts of strangers: shared by thousands of connections, and never kept for good."""

from __future__ import annotations

import weakref

from app.server.transports.socket_io.protocol import trim_environ
from app.server.wsgi.shared_text import CHARS_MAX, TEXTS_MAX, shared


class Text(str):
    """One whose end can be seen."""


def test_equal_texts_are_one() -> None:
    first, second = ("".join(["agent/", "1.0"]) for _ in range(2))

    assert first is not second
    assert shared(first) is shared(second)


def test_clients_alike_share_what_is_kept_of_their_requests() -> None:
    one, other = (trim_environ({"HTTP_USER_AGENT": "".join(["Browser ", "5"])}) for _ in range(2))

    assert one["HTTP_USER_AGENT"] is other["HTTP_USER_AGENT"]


def test_a_text_is_let_go_of_when_many_others_have_come() -> None:
    text = Text("of a stranger")
    gone = weakref.ref(text)
    assert shared(text) == text
    del text

    for number in range(TEXTS_MAX):
        shared(f"another {number}")

    assert gone() is None


def test_a_long_text_is_not_kept_at_all() -> None:
    text = Text("x" * (CHARS_MAX + 1))
    gone = weakref.ref(text)

    assert shared(text) is text
    del text

    assert gone() is None
