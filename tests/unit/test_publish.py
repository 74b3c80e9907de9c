"""`POST /api/notifications` with one notification: what is published, what is refused, and with which message."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.core.errors import BrokerAway
from app.server.broker.base import Draft
from app.server.broker.memory import MemoryBroker
from app.server.factory import SiarApp, create_app
from app.settings import Settings
from tests.unit.test_publish_batch import made_at_rest

DRAWN = "d" * 40
"""A token of the length that Siar generates."""

TYPED = "typed by a person"

TOKENS = [DRAWN, TYPED]

BODY = {"title": "Hello", "body": "there"}


def made(tmp_path: Path, token: str = DRAWN, **settings: Any) -> SiarApp:
    return create_app(Settings(admin_token=token, runs_dir=tmp_path, **settings))


@pytest.fixture
def app(tmp_path: Path) -> SiarApp:
    return made(tmp_path)


def publish(client: FlaskClient, token: str = DRAWN, body: object = BODY, **more: Any) -> TestResponse:
    given = {"json": body, **more} if "data" not in more else more
    headers = {"Authorization": f"Bearer {token}", **given.pop("headers", {})}
    return client.post("/api/notifications", headers=headers, **given)


@pytest.mark.parametrize("token", TOKENS)
def test_a_publish_is_answered_with_its_place_in_the_order(tmp_path: Path, token: str) -> None:
    app = made(tmp_path, token)

    answers = [publish(app.test_client(), token) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [201, 201]
    assert [set(answer.get_json()) for answer in answers] == [{"id", "offset", "sent_us", "recipients"}] * 2
    assert [answer.get_json()["offset"] for answer in answers] == [1, 2]
    assert [each.title for each in app.services.broker.history(0, 10)] == ["Hello", "Hello"]
    assert app.services.requests.answered() == 2, "each counts, for a trial that it may disturb"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"title": "no body"}, 400, "body_unexpected"),
        ({**BODY, "unknown": 1}, 400, "body_unexpected"),
        ("a text", 400, "body_unexpected"),
        ({**BODY, "due_us": 1}, 400, "due_out_of_range"),
        ({**BODY, "data": {"much": "x" * 33_000}}, 400, "data_too_large"),
        ({**BODY, "body": "x" * 270_000}, 413, "body_too_large"),
        ({**BODY, "body": "\N{WAVING HAND SIGN}" * 20_000}, 413, "notification_too_long"),
    ],
)
def test_what_is_wrong_is_said_and_publishes_nothing(
    app: SiarApp, body: object, status: int, code: str
) -> None:
    answer = publish(app.test_client(), body=body)

    assert (answer.status_code, answer.get_json()["code"]) == (status, code)
    assert app.services.broker.position().offset == 0


def test_a_repeated_key_is_answered_200_and_published_once(app: SiarApp) -> None:
    client = app.test_client()
    first, second = (publish(client, body={**BODY, "idempotency_key": "k"}) for _ in range(2))

    assert (first.status_code, second.status_code) == (201, 200)
    assert first.get_json() == second.get_json()
    assert publish(client, body={**BODY, "title": "Else", "idempotency_key": "k"}).status_code == 409
    assert app.services.broker.position().offset == 1


def test_too_much_is_held_back_with_the_time_to_wait(tmp_path: Path) -> None:
    client = made_at_rest(tmp_path, publish_per_s_max=1).test_client()
    first, second = publish(client), publish(client)

    assert (first.status_code, second.status_code) == (201, 429)
    assert int(second.headers["Retry-After"]) >= 1
    assert second.get_json()["code"] == "publish_too_fast"


class AbsentBroker(MemoryBroker):
    """A broker that cannot be reached."""

    def __init__(self) -> None:
        super().__init__(count_max=10, bytes_max=10**6, age_max_us=10**12)
        self.tries: list[Sequence[Draft]] = []

    def publish_all(self, drafts: Sequence[Draft]) -> NoReturn:
        self.tries.append(drafts)
        raise BrokerAway("not there")


def test_what_the_broker_could_not_do_is_said_and_not_tried_again(tmp_path: Path) -> None:
    broker = AbsentBroker()
    app = create_app(Settings(admin_token=DRAWN, runs_dir=tmp_path), broker=broker)

    answer = publish(app.test_client())

    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "1"
    assert len(broker.tries) == 1


KEY = 'a "b" \\ c'
QUOTED = '"a \\"b\\" \\\\ c"'


@pytest.mark.parametrize(
    ("header", "key"),
    [(QUOTED, KEY), ('"k-1"', "k-1"), ("k-1", "k-1"), ('"' + "x" * 128 + '"', "x" * 128), (' "k" ', "k")],
)
def test_the_header_is_another_spelling_of_the_key(app: SiarApp, header: str, key: str) -> None:
    client = app.test_client()

    answers = [
        publish(client, headers={"Idempotency-Key": header}),
        publish(client, headers={"Idempotency-Key": header}),
        publish(client, body={**BODY, "idempotency_key": key}),
        publish(client, body={**BODY, "idempotency_key": key}, headers={"Idempotency-Key": header}),
        publish(client, body={**BODY, "title": "Other"}, headers={"Idempotency-Key": header}),
    ]

    assert [each.status_code for each in answers] == [201, 200, 200, 200, 409]
    assert {each.get_json().get("offset") for each in answers[:4]} == {1}


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
    app: SiarApp, header: str, member: str | None, code: str
) -> None:
    answer = publish(
        app.test_client(), body={**BODY, "idempotency_key": member}, headers={"Idempotency-Key": header}
    )

    assert (answer.status_code, answer.get_json()["code"]) == (400, code)
    assert app.services.broker.position().offset == 0


@pytest.mark.parametrize("token", ["", "x" * 40, "d" * 39, "d" * 41, "D" * 40])
def test_another_token_publishes_nothing(app: SiarApp, token: str) -> None:
    answer = publish(app.test_client(), token)

    assert answer.status_code == 401
    assert app.services.broker.position().offset == 0


@pytest.mark.parametrize(
    ("host", "headers", "status"),
    [("evil.example", {}, 421), ("localhost", {"Origin": "http://evil.example"}, 403)],
)
def test_the_guard_stands_before_it(app: SiarApp, host: str, headers: dict[str, str], status: int) -> None:
    answer = publish(app.test_client(), headers={"Host": host, **headers})

    assert answer.status_code == status
    assert app.services.broker.position().offset == 0


def test_a_body_without_a_length_is_published(app: SiarApp) -> None:
    answer = publish(
        app.test_client(),
        data=None,
        input_stream=io.BytesIO(b'{"title":"Hello","body":"there"}'),
        environ_overrides={"wsgi.input_terminated": True, "CONTENT_LENGTH": ""},
    )

    assert answer.status_code == 201


def test_a_body_that_breaks_off_publishes_nothing(app: SiarApp) -> None:
    answer = publish(
        app.test_client(),
        data=None,
        input_stream=io.BytesIO(b'{"title":"Hello","body":"th'),
        headers={"Content-Length": "60"},
    )

    assert answer.status_code == 400
    assert app.services.broker.position().offset == 0
