"""Which requests are known to be the one before once more: by our worker's own request loop, read for read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from app.server.wsgi.detached import DETACHED
from tests.support.blocking_worker import PEER, BlockingWorker, undated

HEAD = b"POST /api/x?y=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nAuthorization: Bearer t\r\n\r\n"
OTHER = HEAD.replace(b"Bearer t", b"Bearer u")

FULL, AGAIN = "by gunicorn", "again"


class Echo:
    """Answers each request with its body, and notes it; `does` is called amid each."""

    def __init__(self, does: Callable[[dict[str, Any]], None] = lambda environ: None) -> None:
        self.ways: list[str] = []
        """How they came: only gunicorn gives an application its early hints."""
        self.bodies: list[bytes] = []
        self.environs: list[dict[str, Any]] = []
        """As they were given."""
        self._does = does

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.ways.append(FULL if "wsgi.early_hints" in environ else AGAIN)
        self.environs.append(dict(environ))
        self.bodies.append(environ["wsgi.input"].read())
        self._does(environ)
        start_response("200 OK", [("Content-Length", str(len(self.bodies[-1])))])
        return [self.bodies[-1]]


def with_lines(*lines: bytes) -> bytes:
    return HEAD.removesuffix(b"\r\n") + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


def test_the_same_head_again_is_known_and_brings_its_own_body() -> None:
    app = Echo()

    writes = BlockingWorker(app).converse(HEAD + b"one!", HEAD + b"two!", HEAD + b"3...")

    assert app.ways == [FULL, AGAIN, AGAIN]
    assert app.bodies == [b"one!", b"two!", b"3..."]
    # gunicorn writes a head and a body, one after the other; the same again is written at once.
    assert [write[-4:] for write in writes] == [b"\r\n\r\n", b"one!", b"two!", b"3..."]


def test_another_head_is_read_by_gunicorn_and_known_from_then_on() -> None:
    app = Echo()

    BlockingWorker(app).converse(
        HEAD + b"one!", OTHER + b"two!", OTHER + b"3...", HEAD + b"four", HEAD + b"five"
    )

    assert app.ways == [FULL, FULL, AGAIN, FULL, AGAIN]
    assert app.bodies == [b"one!", b"two!", b"3...", b"four", b"five"]
    assert [each["HTTP_AUTHORIZATION"][-1] for each in app.environs] == ["t", "u", "u", "t", "t"]


@pytest.mark.parametrize(
    ("reads", "ways"),
    [
        ([HEAD + b"one!", HEAD, b"two!", HEAD + b"3..."], [FULL, FULL, FULL]),
        ([HEAD + b"one!", HEAD + b"tw", b"o!", HEAD + b"3..."], [FULL, FULL, FULL]),
        ([HEAD + b"one!", HEAD[:20], HEAD[20:] + b"two!", HEAD + b"3..."], [FULL, FULL, FULL]),
        ([HEAD[:20], HEAD[20:] + b"one!", HEAD + b"two!", HEAD + b"3..."], [FULL, FULL, AGAIN]),
        ([HEAD[:20], HEAD[20:] + b"one!", HEAD[:24], HEAD[24:] + b"two!", HEAD + b"3..."], [FULL] * 3),
        ([HEAD + b"one!" + HEAD + b"two!", HEAD + b"3..."], [FULL, AGAIN, AGAIN]),
        ([HEAD + b"one!", HEAD + b"two!" + HEAD + b"3..."], [FULL, FULL, AGAIN]),
        ([HEAD + b"one!" + HEAD + b"two!" + HEAD, b"3..."], [FULL, FULL, FULL]),
        ([HEAD + b"one!", b"\r\n" + HEAD + b"two!", HEAD + b"3..."], [FULL, FULL, FULL]),
    ],
    ids=[
        *("a body that comes later", "a body in two", "a head in two", "the first head in two"),
        "a piece of a head, as long as the first and a body",
        *("two at once", "two at once after one", "two and a head", "an empty line before"),
    ],
)
def test_however_requests_are_cut_into_reads_each_is_answered_once_and_in_order(
    reads: list[bytes], ways: list[str]
) -> None:
    app = Echo()

    writes = BlockingWorker(app).converse(*reads)

    assert app.bodies == [b"one!", b"two!", b"3..."]
    assert app.ways == ways
    assert undated(*writes).count(b"HTTP/1.1 200 OK\r\n") == 3
    assert b"".join(writes).endswith(b"3...")


@pytest.mark.parametrize("behind", [b"!", b"GET / HTTP/1.1\r\n\r\n", b"4\r\nevil\r\n0\r\n\r\n"])
def test_what_comes_behind_a_body_is_never_part_of_it(behind: bytes) -> None:
    app = Echo()

    BlockingWorker(app).converse(HEAD + b"one!", HEAD + b"two!" + behind)

    assert app.bodies[:2] == [b"one!", b"two!"]
    assert app.ways == [FULL] * len(app.ways)


@pytest.mark.parametrize(
    "request_",
    [
        HEAD.replace(b"POST", b"GET") + b"body",
        HEAD.replace(b"POST", b"PUT") + b"body",
        HEAD.replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"\r\n\r\n", b"\r\nConnection: keep-alive\r\n\r\n") + b"body",
        HEAD.replace(b"Length: 4", b"Length: 0"),
        HEAD.replace(b"Content-Length: 4", b"Transfer-Encoding: chunked") + b"4\r\nbody\r\n0\r\n\r\n",
        with_lines(b"Expect: 100-continue") + b"body",
        with_lines(b"Upgrade: something") + b"body",
    ],
    ids=["GET", "PUT", "HTTP/1.0", "no body", "chunks", "Expect", "Upgrade"],
)  # fmt: skip
def test_a_request_that_is_no_plain_post_is_always_read_by_gunicorn(request_: bytes) -> None:
    app = Echo()

    writes = BlockingWorker(app).converse(request_, request_, HEAD + b"body", HEAD + b"body")

    assert app.ways == [FULL, FULL, FULL, AGAIN]
    assert app.bodies[0] == app.bodies[1]
    assert b"".join(writes).count(b" 100 Continue") == 2 * (b"Expect" in request_)


def test_a_connection_that_its_client_closes_is_not_asked_for_the_same_again() -> None:
    app, request = Echo(), with_lines(b"Connection: close") + b"body"

    BlockingWorker(app).converse(request, request)

    assert app.ways == [FULL]


def test_a_request_whose_body_nobody_has_read_is_followed_by_gunicorn() -> None:
    """There the body's bytes are still to be passed over."""
    ways = []

    def deaf(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        ways.append("wsgi.early_hints" in environ)
        start_response("401 Unauthorized", [("Content-Length", "0")])
        return [b""]

    writes = BlockingWorker(deaf).converse(HEAD + b"one!", HEAD + b"two!")

    assert ways == [True, True]
    assert undated(*writes).count(b"HTTP/1.1 401 Unauthorized\r\n") == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accesslog", "-"),
        ("logconfig", "log.conf"),
        ("logconfig_dict", {"version": 1}),
        ("logconfig_json", "log.json"),
        ("syslog", True),
        ("statsd_host", "localhost:8125"),
        ("logger_class", "gunicorn.instrument.statsd.Statsd"),
        ("pre_request", lambda worker, request: None),
        ("post_request", lambda worker, request, environ, response: None),
        ("max_requests", 10),
        ("errorlog", "error.log"),
        ("proxy_protocol", "v2"),
    ],
)
def test_a_setting_by_which_somebody_wants_to_hear_of_requests_switches_it_off(name: str, value: Any) -> None:
    app = Echo()

    BlockingWorker(app, **{name: value}).converse(HEAD + b"one!", HEAD + b"two!")

    assert app.ways == [FULL, FULL]


def test_what_an_application_does_with_its_environ_ends_with_the_request() -> None:
    def spoil(environ: dict[str, Any]) -> None:
        environ["REMOTE_ADDR"] = "spoilt"
        environ["siar.refusal"] = "spoilt"
        del environ["HTTP_HOST"]

    app = Echo(spoil)

    BlockingWorker(app).converse(HEAD + b"one!", HEAD + b"two!", HEAD + b"3...")

    apart = {"wsgi.input", "wsgi.errors", "wsgi.early_hints"}
    full, *again = [{k: v for k, v in each.items() if k not in apart} for each in app.environs]
    assert app.ways == [FULL, AGAIN, AGAIN]
    assert again == [full, full]
    assert full["REMOTE_ADDR"] == PEER[0]


def test_an_application_that_closes_its_input_spoils_nothing() -> None:
    """As whoever wraps it in a text stream does without knowing."""
    app = Echo(lambda environ: getattr(environ["wsgi.input"], "close", lambda: None)())

    writes = BlockingWorker(app).converse(HEAD + b"one!", HEAD + b"two!", OTHER + b"3...")

    assert app.bodies == [b"one!", b"two!", b"3..."]
    assert b" 500 " not in b"".join(writes)


def test_a_connection_that_is_taken_over_on_a_repeat_is_left_alone() -> None:
    answers: list[Any] = [None, DETACHED]

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        environ["wsgi.input"].read()
        start_response("200 OK", [("Content-Length", "2")])
        return answers.pop(0) or [b"ok"]

    writes = BlockingWorker(app).converse(HEAD + b"one!", HEAD + b"two!", HEAD + b"3...")

    assert undated(*writes).count(b"HTTP/1.1 200 OK\r\n") == 1
    assert answers == []
