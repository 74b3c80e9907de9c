"""What of a request is cut before a library parses it."""

from __future__ import annotations

from typing import Any

import pytest
from werkzeug.wrappers import Request

from app.server.deliveries import COOKIE
from app.server.operators import COOKIE as OPERATOR_COOKIE
from app.server.web.bounded import LIST_CHARS_MAX, LIST_ITEMS_MAX, LISTS, fields_of, shorten


def shortened(**headers: str) -> dict[str, Any]:
    environ: dict[str, Any] = dict(headers)
    shorten(environ)
    return environ


@pytest.mark.parametrize(
    "value",
    [
        "",
        "id-ID,id;q=0.9,en-US;q=0.8,en;q=0.7",
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
        ",".join(["en"] * LIST_ITEMS_MAX),
    ],
)
def test_what_browsers_send_is_left_as_it_is(value: str) -> None:
    assert shortened(HTTP_ACCEPT=value, HTTP_ACCEPT_LANGUAGE=value) == {
        "HTTP_ACCEPT": value,
        "HTTP_ACCEPT_LANGUAGE": value,
    }


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("value", ["a," * 12_000, "a" * 24_000, "id," + "b" * 2000, "," * 24_000])
def test_a_longer_list_is_cut_between_two_items(name: str, value: str) -> None:
    found = shortened(**{name: value})[name]

    assert len(found) <= LIST_CHARS_MAX
    assert found.count(",") < LIST_ITEMS_MAX
    assert value.startswith(found)
    assert f"{value},"[len(found)] == "," or found == ""


def test_the_first_languages_of_a_long_list_still_decide() -> None:
    environ = shortened(HTTP_ACCEPT_LANGUAGE="fr,id," + "xx," * 8000)

    assert Request(environ).accept_languages.best_match(["en", "id"]) == "id"


def test_only_our_cookies_are_left_and_of_each_the_first() -> None:
    others = "; ".join(f"other{number}=x" for number in range(2000))
    header = f'{others}; {COOKIE}="mine"; {OPERATOR_COOKIE}=secret; {COOKIE}=later; {COOKIE}x=no'

    environ = shortened(HTTP_COOKIE=header)

    assert environ["HTTP_COOKIE"] == f'{COOKIE}="mine"; {OPERATOR_COOKIE}=secret'
    assert Request(environ).cookies.get(COOKIE) == "mine"
    assert shortened(HTTP_COOKIE=others) == {"HTTP_COOKIE": ""}


@pytest.mark.parametrize(("query", "count"), [("", 1), ("a=1", 1), ("a&b&c=2", 3), ("&&&", 4)])
def test_fields_of_a_query_are_counted_whatever_they_are(query: str, count: int) -> None:
    assert fields_of(query) == count
