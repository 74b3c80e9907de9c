"""The guard's decisions, without a server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from app.core.prefix import OWN_SEGMENTS, clean_prefix
from app.server.factory import create_app
from app.server.services import RequestCounter
from app.server.web.guard import Guard
from app.settings import Settings

PROXY = "10.0.0.7"


def asked(
    *, prefix: str = "", allowed: tuple[str, ...] = (), peer: str = PROXY, path: str = "/", **headers: str
) -> tuple[str, dict[str, Any], dict[str, str]]:
    """The status of the answer, what the application was given (nothing, if it was not asked), and the answer's headers."""
    given: dict[str, Any] = {}
    told: list[Any] = []

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        given.update(environ)
        start_response("200 OK", [])
        return []

    guard = Guard(
        app, allowed_hosts=allowed, requests=RequestCounter(), trusted_proxies=(PROXY,), prefix=prefix
    )
    environ = {
        "REQUEST_METHOD": "POST", "PATH_INFO": path, "SCRIPT_NAME": "", "QUERY_STRING": "", "RAW_URI": path,
        "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": peer, "wsgi.url_scheme": "http",
        **headers,
    }  # fmt: skip
    list(guard(environ, lambda *answer: told.append(answer)))
    return told[0][0][:3], given, dict(told[0][1])


INNER = "127.0.0.1:8080"
PAGE = "https://siar.example"


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        ("403", {}),
        ("200", {"HTTP_X_FORWARDED_HOST": "siar.example"}),
        ("200", {"HTTP_X_FORWARDED_HOST": "siar.example:443"}),
        ("200", {"HTTP_FORWARDED": 'for=1.2.3.4;host="siar.example"'}),
        ("403", {"HTTP_X_FORWARDED_HOST": "siar.example:8443"}),
        ("403", {"HTTP_X_FORWARDED_HOST": "siar.example", "REMOTE_ADDR": "10.0.0.8"}),
        ("403", {"HTTP_FORWARDED": "host=siar.example", "REMOTE_ADDR": "10.0.0.8"}),
        ("421", {"HTTP_X_FORWARDED_HOST": "evil.example", "HTTP_ORIGIN": "https://evil.example"}),
        ("421", {"HTTP_X_FORWARDED_HOST": "siar.example", "HTTP_HOST": "evil.example"}),
        ("200", {"HTTP_SEC_FETCH_SITE": "same-origin"}),
        ("403", {"HTTP_SEC_FETCH_SITE": "cross-site"}),
        ("403", {"HTTP_SEC_FETCH_SITE": "same-site"}),
        ("403", {"HTTP_SEC_FETCH_SITE": "none"}),
    ],
)
def test_a_page_is_known_as_ours_through_a_proxy_that_rewrites_host(
    status: str, headers: dict[str, str]
) -> None:
    allowed = ("siar.example",) if "HTTP_X_FORWARDED_HOST" in headers or "HTTP_FORWARDED" in headers else ()

    assert asked(allowed=allowed, **{"HTTP_HOST": INNER, "HTTP_ORIGIN": PAGE, **headers})[0] == status


@pytest.mark.parametrize(
    ("status", "peer", "origin"),
    [
        ("200", PROXY, PAGE),
        ("403", PROXY, "https://evil.example"),
        ("403", "10.0.0.8", PAGE),
    ],
)
def test_an_allowed_name_stands_in_where_a_trusted_proxy_tells_no_host(
    status: str, peer: str, origin: str
) -> None:
    answer = asked(allowed=("siar.example",), peer=peer, HTTP_HOST=INNER, HTTP_ORIGIN=origin)

    assert answer[0] == status


@pytest.mark.parametrize("host", [None, "a.local,b.local", "a.local,a.local"])
def test_a_request_that_does_not_name_one_host_is_400(host: str | None) -> None:
    assert (asked() if host is None else asked(HTTP_HOST=host))[0] == "400"


def test_http_1_0_needs_no_host() -> None:
    assert asked(SERVER_PROTOCOL="HTTP/1.0")[0] == "200"


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://siar.local/", "siar.local", "200"),
        ("HTTP://siar.local:8080/", "siar.local:8080", "200"),
        ("http://evil.example/", None, "421"),
        ("http://user@siar.local/", None, "421"),
        ("http://[::1/", None, "421"),
    ],
)
def test_the_host_of_an_absolute_target_counts_and_not_the_header_s(
    target: str, host: str | None, status: str
) -> None:
    answered, given, _headers = asked(HTTP_HOST="other.local", RAW_URI=target)

    assert (answered, given.get("HTTP_HOST")) == (status, host)


def test_an_absolute_target_does_not_make_up_for_a_missing_host() -> None:
    assert asked(RAW_URI="http://siar.local/")[0] == "400"


@pytest.mark.parametrize("path", ["/siar/events", "/events"])
@pytest.mark.parametrize("told", ["setting", "header"])
def test_the_prefix_goes_into_the_script_name_whether_it_was_taken_off_or_not(path: str, told: str) -> None:
    header = {"HTTP_X_FORWARDED_PREFIX": "/siar"} if told == "header" else {}

    status, given, _headers = asked(
        prefix="/siar" if told == "setting" else "", allowed=(), path=path, HTTP_HOST=INNER, **header
    )

    assert (status, given["SCRIPT_NAME"], given["PATH_INFO"]) == ("200", "/siar", "/events")


def test_a_path_that_only_begins_alike_stays() -> None:
    _status, given, _headers = asked(prefix="/siar", path="/siarx", HTTP_HOST=INNER)

    assert given["PATH_INFO"] == "/siarx"


def test_the_prefix_without_its_slash_leads_to_the_page() -> None:
    status, given, headers = asked(prefix="/siar", path="/siar", HTTP_HOST=INNER, QUERY_STRING="code=AB")

    assert (status, given, headers["Location"]) == ("307", {}, "/siar/?code=AB")


@pytest.mark.parametrize(
    "text", ["siar", "/siar/../x", "/a//b", "//evil", "/a b", "/.well-known", "/api", "/api/x", "/ä", "/a?b"]
)
def test_what_can_be_no_prefix_is_refused(text: str) -> None:
    assert clean_prefix(text) is None


@pytest.mark.parametrize(
    ("text", "prefix"), [("", ""), ("/", ""), ("/siar", "/siar"), ("/siar/", "/siar"), ("/a/b.c~", "/a/b.c~")]
)
def test_a_prefix_has_no_slash_at_its_end(text: str, prefix: str) -> None:
    assert clean_prefix(text) == prefix


def test_every_first_segment_of_our_own_is_known_as_such() -> None:
    rules = create_app(Settings(admin_token="t" * 20)).url_map.iter_rules()

    ours = {rule.rule.split("/")[1] for rule in rules} - {""}
    assert ours | {"socket.io"} == OWN_SEGMENTS


@pytest.mark.parametrize(("count", "status"), [(64, "200"), (65, "400"), (4000, "400")])
@pytest.mark.parametrize("field", ["topic=a", "", "x"])
def test_a_query_of_more_fields_than_a_client_may_need_is_refused(
    count: int, status: str, field: str
) -> None:
    found, given, _ = asked(HTTP_HOST="127.0.0.1", QUERY_STRING="&".join([field] * count))

    assert found == status
    assert bool(given) is (status == "200")
