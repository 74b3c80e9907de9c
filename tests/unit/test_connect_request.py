"""Topics, recovery and position in a Socket.IO client's CONNECT."""

from __future__ import annotations

import pytest

from app.core.errors import Malformed
from app.server.transports.socket_io.connect_request import ConnectRequest, read_auth


def asked(auth: object, *query_topics: str) -> ConnectRequest:
    return read_auth(auth, None, topics_max=3, query_topics=query_topics)


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        ("news", {"news"}),
        ("news,sport", {"news", "sport"}),
        ("news , sport", {"news", "sport"}),
        (["news", "sport"], {"news", "sport"}),
        ([], None),
        (None, None),
    ],
)
def test_topics_are_a_list_or_one_string(topics: object, expected: set[str] | None) -> None:
    assert asked({"topics": topics}).wanted.topics == expected


def test_topics_of_the_query_count_where_auth_names_none() -> None:
    assert asked(None, "news,sport", "art").wanted.topics == {"news", "sport", "art"}
    assert asked({"topics": "news"}, "sport").wanted.topics == {"news"}


@pytest.mark.parametrize(("recover", "expected"), [("true", True), ("false", False), (True, True)])
def test_recover_may_be_a_string(recover: object, expected: bool) -> None:
    assert asked({"recover": recover}).recover is expected


@pytest.mark.parametrize(
    "auth",
    [
        "news",
        ["news"],
        {"topics": ""},
        {"topics": "news,"},
        {"topics": '["news"]'},
        {"topics": "a,b,c,d"},
        {"topics": 5},
        {"topics": {"news": True}},
        {"topics": [5]},
        {"recover": "yes"},
        {"recover": "True"},
        {"recover": 1},
        {"recover": None},
        {"last_event_id": 5},
    ],
)
def test_anything_else_is_refused(auth: object) -> None:
    with pytest.raises(Malformed):
        asked(auth)


def test_a_malformed_topic_of_the_query_is_refused() -> None:
    with pytest.raises(Malformed):
        asked(None, "a b")
