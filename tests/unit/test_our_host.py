"""The names that a server goes by, and the pages that are its own."""

from __future__ import annotations

import pytest

from app.core.host_check import is_our_host, is_same_origin
from app.server.web.policy import ISOLATION, closing_headers
from app.settings import is_loopback


@pytest.mark.parametrize(
    "host", ["x.localhost", "X.LocalHost:8080", "a.b.localhost.", "localhost", "siar.local"]
)
def test_names_that_lead_nowhere_else_are_ours(host: str) -> None:
    assert is_our_host(host, ())


@pytest.mark.parametrize("host", ["localhost.example", "xlocalhost.example", "x.localhost.example"])
def test_names_of_the_public_dns_are_not(host: str) -> None:
    assert not is_our_host(host, ())


@pytest.mark.parametrize("name", ["x.localhost", "LOCALHOST", "localhost.", "127.0.0.1", "::1"])
def test_a_name_below_localhost_is_loopback(name: str) -> None:
    assert is_loopback(name)


@pytest.mark.parametrize("host", ["x.localhost:8080", "LOCALHOST"])
def test_a_page_below_localhost_is_isolated_as_any_of_loopback(host: str) -> None:
    assert ISOLATION[0] in closing_headers(host, None, secure=False)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://siar.example", "siar.example:443"),
        ("https://siar.example:443", "siar.example"),
        ("http://siar.example", "siar.example:80"),
        ("https://siar.example", "siar.example"),
        ("https://Siar.Example", "siar.EXAMPLE:443"),
        ("http://[::1]:8080", "[::1]:8080"),
        ("https://[2001:db8::1]", "[2001:DB8::1]:443"),
    ],
)
def test_a_page_under_the_same_name_and_port_is_of_the_same_origin(origin: str, host: str) -> None:
    assert is_same_origin(origin, host)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://siar.example", "siar.example:80"),
        ("http://siar.example", "siar.example:443"),
        ("http://siar.example:8081", "siar.example:8080"),
        ("https://evil.example", "siar.example"),
        ("https://siar.example.evil", "siar.example"),
        ("null", "siar.example"),
        ("", ""),
        ("https://", ""),
        ("https://[::1", "[::1"),
        ("https://siar.example:99999", "siar.example"),
        ("chrome-extension://siar.example", "siar.example"),
    ],
)
def test_any_other_is_not(origin: str, host: str) -> None:
    assert not is_same_origin(origin, host)
