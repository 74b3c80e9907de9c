"""The short way to publish answers what the view answers, and leaves everything else to it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import flask
import pytest
from flask.testing import FlaskClient
from werkzeug.datastructures import Headers
from werkzeug.test import EnvironBuilder, TestResponse, run_wsgi_app
from werkzeug.wrappers import Request

from app.core.errors import BrokerAway
from app.server.factory import SiarApp, create_app
from app.server.web.policy import closing_headers
from app.server.wsgi import shortcut
from app.server.wsgi.shortcut import Shortcut
from app.settings import Settings

DRAWN = "d" * 40
"""As long as a token that Siar draws: such a one goes the short way."""

TYPED = "typed by a person"
"""Goes through the view."""

BODY = {"title": "Hello", "body": "there"}


def made(tmp_path: Path, token: str, **settings: Any) -> SiarApp:
    return create_app(Settings(admin_token=token, runs_dir=tmp_path, **settings))


@pytest.fixture
def app(tmp_path: Path) -> SiarApp:
    return made(tmp_path, DRAWN)


@pytest.fixture
def passed_on(app: SiarApp) -> list[str]:
    """Methods of the requests that reach Flask."""
    seen: list[str] = []
    app.before_request(lambda: seen.append(flask.request.method))
    return seen


def publish(client: FlaskClient, token: str, body: object = BODY, **more: Any) -> TestResponse:
    given = {"json": body, **more} if "data" not in more else more
    headers = {"Authorization": f"Bearer {token}", **given.pop("headers", {})}
    return client.post("/api/notifications", headers=headers, **given)


def told(answer: TestResponse) -> tuple[int, set[str], dict[str, str]]:
    """What both ways must have in common: the members, but not the moment and the epoch, nor what is said to pages."""
    of_pages = {name for name, _value in closing_headers("localhost", None, secure=True)} - {
        "X-Content-Type-Options"
    }
    headers = {name: value for name, value in answer.headers.items() if name not in of_pages}
    return answer.status_code, set(answer.get_json()), headers


def test_a_publish_never_reaches_flask(app: SiarApp, passed_on: list[str]) -> None:
    answer = publish(app.test_client(), DRAWN)

    assert answer.status_code == 201
    assert answer.get_json()["offset"] == 1
    assert passed_on == []
    assert app.services.broker.history(0, 10)[0].title == "Hello"


def test_both_ways_answer_alike(tmp_path: Path) -> None:
    quick = publish(made(tmp_path / "a", DRAWN).test_client(), DRAWN)
    slow = publish(made(tmp_path / "b", TYPED).test_client(), TYPED)

    assert told(quick) == told(slow)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"title": "no body"}, 400),
        ({**BODY, "unknown": 1}, 400),
        ({**BODY, "due_us": 1}, 400),
        ({**BODY, "data": {"much": "x" * 33_000}}, 400),
        ({**BODY, "body": "x" * 270_000}, 413),
        ({**BODY, "body": "\N{WAVING HAND SIGN}" * 20_000}, 413),
    ],
)
def test_what_is_wrong_is_said_as_the_view_says_it(tmp_path: Path, body: object, status: int) -> None:
    quick = publish(made(tmp_path / "a", DRAWN).test_client(), DRAWN, body)
    slow = publish(made(tmp_path / "b", TYPED).test_client(), TYPED, body)

    assert quick.status_code == status
    assert told(quick) == told(slow)
    assert quick.get_json() == slow.get_json()


def test_a_repeated_key_is_answered_200_and_published_once(app: SiarApp) -> None:
    client = app.test_client()
    first, second = (publish(client, DRAWN, {**BODY, "idempotency_key": "k"}) for _ in range(2))

    assert (first.status_code, second.status_code) == (201, 200)
    assert first.get_json() == second.get_json()
    assert publish(client, DRAWN, {**BODY, "title": "Else", "idempotency_key": "k"}).status_code == 409
    assert app.services.broker.position().offset == 1


def test_too_much_is_held_back_with_the_time_to_wait(tmp_path: Path) -> None:
    client = made(tmp_path, DRAWN, publish_per_s_max=1).test_client()
    first, second = publish(client, DRAWN), publish(client, DRAWN)

    assert (first.status_code, second.status_code) == (201, 429)
    assert int(second.headers["Retry-After"]) >= 1
    assert second.get_json()["code"] == "publish_too_fast"


def test_what_came_of_it_is_said_by_the_view_and_not_tried_again(
    app: SiarApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[object] = []

    def away(draft: object) -> None:
        tries.append(draft)
        raise BrokerAway("not there")

    monkeypatch.setattr(app.services.broker, "publish", away)
    answer = publish(app.test_client(), DRAWN)

    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "1"
    assert len(tries) == 1


KEY = 'a "b" \\ c'
QUOTED = '"a \\"b\\" \\\\ c"'


@pytest.mark.parametrize("token", [DRAWN, TYPED])
@pytest.mark.parametrize(
    ("header", "key"),
    [(QUOTED, KEY), ('"k-1"', "k-1"), ("k-1", "k-1"), ('"' + "x" * 128 + '"', "x" * 128), (' "k" ', "k")],
)
def test_the_header_is_another_spelling_of_the_key(tmp_path: Path, token: str, header: str, key: str) -> None:
    client = made(tmp_path, token).test_client()

    answers = [
        publish(client, token, headers={"Idempotency-Key": header}),
        publish(client, token, headers={"Idempotency-Key": header}),
        publish(client, token, {**BODY, "idempotency_key": key}),
        publish(client, token, {**BODY, "idempotency_key": key}, headers={"Idempotency-Key": header}),
        publish(client, token, {**BODY, "title": "Other"}, headers={"Idempotency-Key": header}),
    ]

    assert [each.status_code for each in answers] == [201, 200, 200, 200, 409]
    assert {each.get_json().get("offset") for each in answers[:4]} == {1}


@pytest.mark.parametrize("token", [DRAWN, TYPED])
@pytest.mark.parametrize(
    ("header", "member", "code"),
    [
        ('"a"', "b", "idempotency_keys_differ"),
        *(
            (header, None, "idempotency_header_malformed")
            for header in [
                "",
                '""',
                '"a',
                'a"',
                '"a","a"',
                "a, b",
                '"a";b=1',
                '"\\a"',
                '"\xe9"',
                "a" * 129,
                '"\t"',
            ]
        ),
    ],
)
def test_a_header_that_holds_no_key_or_another_one_publishes_nothing(
    tmp_path: Path, token: str, header: str, member: str | None, code: str
) -> None:
    app = made(tmp_path, token)

    answer = publish(
        app.test_client(), token, {**BODY, "idempotency_key": member}, headers={"Idempotency-Key": header}
    )

    assert (answer.status_code, answer.get_json()["code"]) == (400, code)
    assert app.services.broker.position().offset == 0


@pytest.mark.parametrize("token", ["", "x" * 40, "d" * 39, "d" * 41, "D" * 40])
def test_another_token_publishes_nothing(app: SiarApp, passed_on: list[str], token: str) -> None:
    answer = publish(app.test_client(), token)

    assert answer.status_code == 401
    assert passed_on == ["POST"]
    assert app.services.broker.position().offset == 0


def test_a_wrong_token_counts_as_one_guess_and_a_right_one_as_none(
    app: SiarApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    is_token = app.services.operators.is_token

    def noted(token: str, *, address: str) -> bool:
        asked.append(token)
        return is_token(token, address=address)

    monkeypatch.setattr(app.services.operators, "is_token", noted)
    publish(app.test_client(), "x" * 40)
    publish(app.test_client(), DRAWN)

    assert asked == ["x" * 40]


@pytest.mark.parametrize(
    ("host", "headers", "status"),
    [("evil.example", {}, 421), ("localhost", {"Origin": "http://evil.example"}, 403)],
)
def test_the_guard_stands_before_it(app: SiarApp, host: str, headers: dict[str, str], status: int) -> None:
    answer = publish(app.test_client(), DRAWN, headers={"Host": host, **headers})

    assert answer.status_code == status
    assert app.services.broker.position().offset == 0


def test_a_body_without_a_length_goes_through_the_view(app: SiarApp, passed_on: list[str]) -> None:
    answer = publish(
        app.test_client(),
        DRAWN,
        data=None,
        input_stream=io.BytesIO(b'{"title":"Hello","body":"there"}'),
        environ_overrides={"wsgi.input_terminated": True, "CONTENT_LENGTH": ""},
    )

    assert passed_on == ["POST"]
    assert answer.status_code == 201


def test_a_body_that_breaks_off_publishes_nothing(app: SiarApp) -> None:
    answer = publish(
        app.test_client(),
        DRAWN,
        data=None,
        input_stream=io.BytesIO(b'{"title":"Hello","body":"th'),
        headers={"Content-Length": "60"},
    )

    assert answer.status_code == 400
    assert app.services.broker.position().offset == 0


def test_other_requests_of_that_address_reach_flask(app: SiarApp, passed_on: list[str]) -> None:
    client = app.test_client()
    client.get("/api/notifications")
    client.put("/api/notifications", json=BODY, headers={"Authorization": f"Bearer {DRAWN}"})

    assert passed_on == ["GET", "PUT"]


class Again:
    """A publish whose head comes again, as our worker has it answered."""

    def __init__(
        self, app: SiarApp, token: str = DRAWN, path: str = "/api/notifications", **headers: str
    ) -> None:
        self._app = app
        self.shortcut = Shortcut()
        builder = EnvironBuilder(
            path=path,
            method="POST",
            json=BODY,
            headers=Headers({"Authorization": f"Bearer {token}", **headers}),
            environ_overrides={shortcut.KEY: self.shortcut, "REMOTE_ADDR": "127.0.0.1"},
        )
        self.environ = builder.get_environ()
        self.body = self.environ["wsgi.input"].getvalue()
        self.first = self._answer(app.wsgi_app, self.environ)

    def answer(self, body: bytes | None = None) -> TestResponse:
        """The next one's. A body has the length of the first one's."""
        assert self.shortcut.app is not None
        given = io.BytesIO(self.body if body is None else body)
        return self._answer(self.shortcut.app, {**self.shortcut.environ, "wsgi.input": given})

    def _answer(self, wsgi: Any, environ: dict[str, Any]) -> TestResponse:
        answer = TestResponse(*run_wsgi_app(wsgi, environ, buffered=True), request=Request(environ))
        assert answer.is_json
        return answer


def test_the_same_head_again_is_a_publish_like_the_first_one(app: SiarApp, passed_on: list[str]) -> None:
    again = Again(app)

    second, third = again.answer(), again.answer(again.body.replace(b"there", b"again"))

    assert [each.status_code for each in (again.first, second, third)] == [201] * 3
    assert [each.get_json()["offset"] for each in (again.first, second, third)] == [1, 2, 3]
    assert told(again.first) == told(second) == told(third)
    assert [each.body for each in app.services.broker.history(0, 10)] == ["there", "there", "again"]
    assert app.services.requests.answered() == 3, "each counts, for a trial that it may disturb"
    assert passed_on == []


def test_what_is_wrong_with_a_repeat_is_said_by_the_view(app: SiarApp, passed_on: list[str]) -> None:
    again = Again(app)

    answers = [again.answer(again.body.replace(b"title", b"tilte")), again.answer()]

    assert [each.status_code for each in answers] == [400, 201]
    assert passed_on == ["POST"]


def test_a_repeat_that_is_too_fast_is_held_back(tmp_path: Path) -> None:
    again = Again(made(tmp_path, DRAWN, publish_per_s_max=1))

    assert [again.answer().status_code for _ in range(2)] == [429, 429]


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"token": TYPED}, 401),
        ({"path": "/api/deliveries"}, 400),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
    ],
)
def test_a_head_that_is_not_ours_or_not_allowed_takes_no_shortcut(
    app: SiarApp, given: dict[str, str], status: int
) -> None:
    again = Again(app, **given)

    assert again.first.status_code == status
    assert again.shortcut.app is None


def test_behind_a_proxy_a_repeat_comes_from_the_client_too(tmp_path: Path) -> None:
    app = made(tmp_path, DRAWN, trusted_proxies=("127.0.0.1",))
    forwarded = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}
    again = Again(app, **forwarded)
    seen: list[tuple[str | None, str]] = []
    app.before_request(lambda: seen.append((flask.request.remote_addr, flask.request.scheme)))

    answer = again.answer(b"x" * len(again.body))

    assert (again.first.status_code, answer.status_code) == (201, 400)
    assert seen == [("192.0.2.7", "https")]
