"""Whom a proxy passes on: by the word of trusted proxies only, read from the right."""

from __future__ import annotations

import pytest

from app.core.forwarded import OriginalRequest, Proxies, last_scheme

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


@pytest.mark.parametrize(
    ("headers", "seen"),
    [
        (
            {"X_FORWARDED_HOST": "siar.example"},
            OriginalRequest("10.0.0.7", host="siar.example", is_by_proxy=True),
        ),
        (
            {"X_FORWARDED_HOST": "evil, siar.example"},
            OriginalRequest("10.0.0.7", host="siar.example", is_by_proxy=True),
        ),
        (
            {"X_FORWARDED_HOST": "siar.example", "X_FORWARDED_PORT": "8443", "X_FORWARDED_PROTO": "https"},
            OriginalRequest("10.0.0.7", "https", "siar.example:8443", is_by_proxy=True),
        ),
        (
            {"X_FORWARDED_HOST": "[::1]", "X_FORWARDED_PORT": "8443"},
            OriginalRequest("10.0.0.7", host="[::1]:8443", is_by_proxy=True),
        ),
        (
            {"X_FORWARDED_HOST": "siar.example:9000", "X_FORWARDED_PORT": "80"},
            OriginalRequest("10.0.0.7", host="siar.example:9000", is_by_proxy=True),
        ),
        (
            {"X_FORWARDED_HOST": "h", "X_FORWARDED_PORT": "443"},
            OriginalRequest("10.0.0.7", host="h", is_by_proxy=True),
        ),
        ({"X_FORWARDED_PREFIX": "/siar/"}, OriginalRequest("10.0.0.7", prefix="/siar", is_by_proxy=True)),
        ({"X_FORWARDED_PREFIX": "/../x"}, OriginalRequest("10.0.0.7", is_by_proxy=True)),
        ({"X_FORWARDED_PREFIX": "//evil.example"}, OriginalRequest("10.0.0.7", is_by_proxy=True)),
        (
            {"FORWARDED": 'for="[2001:db8::1]:4711";proto=https;host="siar.example:8443"'},
            OriginalRequest("2001:db8::1", "https", "siar.example:8443", is_by_proxy=True),
        ),
        (
            {"FORWARDED": "For=203.0.113.9;Host=siar.example, for=192.168.1.20;host=inner"},
            OriginalRequest(
                "203.0.113.9", host="siar.example", is_by_proxy=True
            ),  # Two proxies of ours in a row.
        ),
        (
            {"FORWARDED": "for=1.2.3.4;host=evil, for=203.0.113.9;host=siar.example"},
            OriginalRequest(
                "203.0.113.9", host="siar.example", is_by_proxy=True
            ),  # The client wrote the first by itself.
        ),
        (
            {"FORWARDED": 'for="_hidden";host=siar.example'},
            OriginalRequest("10.0.0.7", host="siar.example", is_by_proxy=True),
        ),
        ({"FORWARDED": 'for="203.0.113.9:_p"'}, OriginalRequest("203.0.113.9", is_by_proxy=True)),
        ({"FORWARDED": r'host="a\"b"'}, OriginalRequest("10.0.0.7", host='a"b', is_by_proxy=True)),
        ({"FORWARDED": 'for="1.2.3.4, for=203.0.113.9'}, OriginalRequest("10.0.0.7", is_by_proxy=True)),
        (
            {"FORWARDED": ", ;for=203.0.113.9 ;; proto=https,"},
            OriginalRequest("203.0.113.9", "https", is_by_proxy=True),
        ),
        ({"FORWARDED": ""}, OriginalRequest("10.0.0.7", is_by_proxy=True)),
        (
            {"FORWARDED": "for=1.2.3.4;host=evil", "X_FORWARDED_FOR": "203.0.113.9"},
            OriginalRequest(
                "203.0.113.9", is_by_proxy=True
            ),  # A proxy that writes the one passes the other on.
        ),
    ],
)
def test_a_trusted_proxy_tells_host_scheme_and_prefix(headers: dict[str, str], seen: OriginalRequest) -> None:
    environ = {f"HTTP_{name}": value for name, value in headers.items()}

    assert Proxies(TRUSTED).original_request("10.0.0.7", environ) == seen


@pytest.mark.parametrize("name", ["X_FORWARDED_HOST", "X_FORWARDED_PREFIX", "X_FORWARDED_PROTO", "FORWARDED"])
def test_a_stranger_tells_nothing(name: str) -> None:
    value = "for=1.2.3.4;host=evil;proto=https" if name == "FORWARDED" else "https"

    assert Proxies(TRUSTED).original_request("10.0.0.8", {f"HTTP_{name}": value}) == OriginalRequest(
        "10.0.0.8"
    )
