"""Whom a proxy passes on: by the word of trusted proxies only, read from the right."""

from __future__ import annotations

import pytest

from app.core.forwarded import Proxies, last_scheme

TRUSTED = ("10.0.0.7", "192.168.1.0/24", "::1")


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "client"),
    [
        ("10.0.0.7", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.7", "", "10.0.0.7"),
        ("10.0.0.8", "203.0.113.9", "10.0.0.8"),  # A stranger's word.
        ("10.0.0.7", "1.2.3.4, 203.0.113.9", "203.0.113.9"),  # The client wrote the first by itself.
        ("10.0.0.7", "203.0.113.9, 192.168.1.20", "203.0.113.9"),  # Two proxies of ours in a row.
        ("10.0.0.7", "127.0.0.1", "127.0.0.1"),
        ("10.0.0.7", "203.0.113.9:4711", "203.0.113.9"),
        ("10.0.0.7", "[2001:db8::1]:4711", "2001:db8::1"),
        ("::1", "2001:db8::1", "2001:db8::1"),
        ("::ffff:10.0.0.7", "203.0.113.9", "203.0.113.9"),  # The proxy on a socket for both families.
        ("10.0.0.7", "1.2.3.4, nonsense", "10.0.0.7"),
        ("10.0.0.7", " , ,", "10.0.0.7"),
        ("", "203.0.113.9", ""),
    ],
)
def test_the_client_is_the_last_one_that_is_no_proxy_of_ours(
    peer: str, forwarded_for: str, client: str
) -> None:
    assert Proxies(TRUSTED).client(peer, forwarded_for) == client


def test_a_row_without_end_is_looked_through_only_so_far() -> None:
    row = ", ".join(["203.0.113.9", *["10.0.0.7"] * 100_000])

    assert Proxies(TRUSTED).client("10.0.0.7", row) == "10.0.0.7"


def test_without_named_proxies_nobody_is_believed() -> None:
    assert not Proxies(())
    assert Proxies(()).client("127.0.0.1", "203.0.113.9") == "127.0.0.1"


@pytest.mark.parametrize(
    ("text", "scheme"),
    [("https", "https"), ("http, HTTPS", "https"), ("https,http", "http"), ("", ""), ("gopher", "")],
)
def test_the_scheme_is_the_nearest_proxys_word(text: str, scheme: str) -> None:
    assert last_scheme(text) == scheme
