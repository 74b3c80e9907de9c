"""`POST /api/notifications` with a batch: one result for each entry, in order, and limits for the whole batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from werkzeug.test import TestResponse

from app.core.errors import BrokerAway, NotKept, SiarError
from app.core.units import MonotonicUs, ServerUs
from app.server.broker.base import Draft
from app.server.broker.memory import MemoryBroker
from app.server.factory import SiarApp, create_app
from app.server.source import Trial, TrialOrder
from app.server.web.publish import batch
from app.settings import Settings

TOKEN = "d" * 40

BODY = {"title": "t", "body": ""}


class StoppedClock:
    """A clock that stands still."""

    def now_us(self) -> ServerUs:
        return ServerUs(10**15)

    def monotonic_us(self) -> MonotonicUs:
        return MonotonicUs(10**12)


class FailingBroker(MemoryBroker):
    """A broker that cannot publish."""

    def __init__(self, error: type[SiarError]) -> None:
        super().__init__(count_max=10, bytes_max=10**6, age_max_us=10**12)
        self._error = error

    def publish_all(self, drafts: Sequence[Draft]) -> NoReturn:
        raise self._error("not now")


def made(tmp_path: Path, **settings: Any) -> SiarApp:
    return create_app(Settings(admin_token=TOKEN, runs_dir=tmp_path, **settings))


def made_at_rest(tmp_path: Path, *, publish_per_s_max: int) -> SiarApp:
    settings = Settings(admin_token=TOKEN, runs_dir=tmp_path, publish_per_s_max=publish_per_s_max)
    return create_app(settings, clock=StoppedClock())


@pytest.fixture
def app(tmp_path: Path) -> SiarApp:
    return made(tmp_path)


def as_array(*notifications: object) -> tuple[bytes, str]:
    return json.dumps(notifications).encode(), "application/json"


def as_lines(*notifications: object) -> tuple[bytes, str]:
    return "\n".join(json.dumps(each) for each in notifications).encode(), batch.NDJSON


FORMS = pytest.mark.parametrize("form", [as_array, as_lines])

Form = Callable[..., tuple[bytes, str]]


def send(app: SiarApp, body: tuple[bytes, str], **headers: str) -> TestResponse:
    raw, content_type = body
    return app.test_client().post(
        "/api/notifications",
        data=raw,
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": content_type, **headers},
    )


def titled(*titles: str, **members: object) -> list[dict[str, object]]:
    return [{"title": title, "body": "", **members} for title in titles]


def titles(app: SiarApp) -> list[str]:
    return [each.title for each in app.services.broker.history(0, 1000)]


@FORMS
def test_each_notification_has_its_result_in_order(app: SiarApp, form: Form) -> None:
    answer = send(app, form(*titled("a", "b", "c")))

    results = answer.get_json()["results"]
    assert answer.status_code == 200
    assert [set(each) for each in results] == [{"status", "id", "offset", "sent_us", "recipients"}] * 3
    assert [(each["status"], each["offset"]) for each in results] == [(201, 1), (201, 2), (201, 3)]
    assert titles(app) == ["a", "b", "c"]
    assert app.services.requests.answered() == 1
    assert [app.services.receipts.get(each["id"]).id for each in results] == [each["id"] for each in results]


@pytest.mark.parametrize(
    ("raw", "content_type"),
    [
        (b' \n[{"title":"t","body":""}]\n', "application/json"),
        (b'\xef\xbb\xbf[{"title":"t","body":""}]', "application/json; charset=utf-8"),
        (b'[{"title":"t","body":""}]', "text/plain"),
        (b'{"title":"t","body":""}', "application/x-ndjson"),
        (b'\xef\xbb\xbf\r\n{"title":"t","body":""}\r\n\n', "Application/X-NDJSON; charset=utf-8"),
    ],
)
def test_a_batch_of_one_is_a_batch(app: SiarApp, raw: bytes, content_type: str) -> None:
    assert [each["status"] for each in send(app, (raw, content_type)).get_json()["results"]] == [201]


@FORMS
def test_a_bad_notification_has_its_own_refusal_and_spoils_no_other(app: SiarApp, form: Form) -> None:
    bad: list[tuple[object, int, str]] = [
        ({"title": "no body"}, 400, "body_unexpected"),
        ({**BODY, "unknown": 1}, 400, "body_unexpected"),
        ({**BODY, "topic": "a b"}, 400, "body_unexpected"),
        (None, 400, "body_unexpected"),
        ("text", 400, "body_unexpected"),
        ([], 400, "body_unexpected"),
        ([BODY], 400, "body_unexpected"),
        ({**BODY, "due_us": 1}, 400, "due_out_of_range"),
        ({**BODY, "data": {"much": "x" * 33_000}}, 400, "data_too_large"),
        ({**BODY, "body": "\N{WAVING HAND SIGN}" * 20_000}, 413, "notification_too_long"),
        ({**BODY, "data": {"much": "x" * 270_000}}, 413, "body_too_large"),
    ]
    notifications = [each for refused, _, _ in bad for each in (refused, BODY)]

    results = send(app, form(*notifications)).get_json()["results"]

    assert [(each["status"], each["code"]) for each in results[::2]] == [
        (status, code) for _, status, code in bad
    ]
    assert all({"type", "title", "detail", "parameters"} <= set(each) for each in results[::2])
    assert [(each["status"], each["offset"]) for each in results[1::2]] == [
        (201, offset) for offset in range(1, len(bad) + 1)
    ]


@pytest.mark.parametrize(
    "line", [b"{", b"\xff", b'{"title": "t"} {}', b"[" * 30_000, b'{"title":"\\ud800","body":""}', b"nul"]
)
def test_a_line_that_is_no_json_is_refused_alone(app: SiarApp, line: bytes) -> None:
    good = b'{"title":"t","body":""}'

    results = send(app, (b"\n".join([good, line, good]), batch.NDJSON)).get_json()["results"]

    assert [each["status"] for each in results] == [201, 400, 201]


@pytest.mark.parametrize(
    ("raw", "content_type", "status", "code"),
    [
        (b"[]", "application/json", 400, "publish_batch_empty"),
        (b" [ ] ", "application/json", 400, "publish_batch_empty"),
        (b"", batch.NDJSON, 400, "publish_batch_empty"),
        (b"\n \r\n", batch.NDJSON, 400, "publish_batch_empty"),
        (b"[", "application/json", 400, "body_unexpected"),
        (b'[{"title":"t","body":""}', "application/json", 400, "body_unexpected"),
        (b'[{"title":"t","body":""},]', "application/json", 400, "body_unexpected"),
        (b'[{"title":"t","body":""}] x', "application/json", 400, "body_unexpected"),
        (b'[{"title":"t","body":""}, NaN]', "application/json", 400, "body_unexpected"),
        (b"[" * 100_000 + b"]" * 100_000, "application/json", 400, "body_unexpected"),
        (*as_array(*[BODY] * 1001), 413, "publish_batch_too_large"),
        (*as_lines(*[BODY] * 1001), 413, "publish_batch_too_large"),
        (*as_array({**BODY, "body": "x" * 1_100_000}), 413, "publish_batch_too_large"),
    ],
)
def test_what_is_no_batch_publishes_nothing(
    app: SiarApp, raw: bytes, content_type: str, status: int, code: str
) -> None:
    answer = send(app, (raw, content_type))

    assert (answer.status_code, answer.get_json()["code"]) == (status, code)
    assert titles(app) == []


def test_a_batch_that_is_too_large_is_refused_with_all_limits(tmp_path: Path) -> None:
    bounds = {"publish_body_bytes_max": 3000, "queue_bytes_max": 4000, "queue_notifications_max": 7}
    app = made(tmp_path, **bounds)
    small = made(tmp_path, publish_per_s_max=5)

    many, long, allowed = (
        send(app, as_array(*notifications))
        for notifications in ([BODY] * 8, [{**BODY, "body": "x" * 1500}] * 3, [BODY] * 7)
    )

    for answer in (many, long):
        assert answer.status_code == 413
        assert answer.get_json()["parameters"] == {"single": 3000, "count": 7, "bytes": 4000}
        assert all(f" {number} " in answer.get_json()["detail"] for number in (3000, 7, 4000))
    assert allowed.status_code == 200
    assert send(small, as_array(*[BODY] * 6)).get_json()["parameters"]["count"] == 5
    assert send(small, as_array(*[BODY] * 5)).status_code == 200


def test_a_thousand_are_one_batch_by_the_settings_as_they_are(app: SiarApp) -> None:
    names = [str(number) for number in range(1000)]

    results = send(app, as_lines(*titled(*names))).get_json()["results"]

    assert [each["offset"] for each in results] == list(range(1, 1001))
    assert titles(app) == names


@FORMS
def test_the_header_that_is_for_one_is_refused_with_a_batch(app: SiarApp, form: Form) -> None:
    answer = send(app, form(BODY), **{"Idempotency-Key": '"k"'})

    assert (answer.status_code, answer.get_json()["code"]) == (400, "idempotency_header_of_batch")
    assert titles(app) == []


@FORMS
def test_a_key_in_a_batch_is_one_like_any_other(app: SiarApp, form: Form) -> None:
    send(app, form(*titled("old", idempotency_key="k")))
    notifications = [
        *titled("old", "else", idempotency_key="k"),
        *titled("new", "new", "else", idempotency_key="k2"),
        *titled("none"),
    ]

    results = send(app, form(*notifications)).get_json()["results"]

    assert [each["status"] for each in results] == [200, 409, 201, 200, 409, 201]
    assert [each.get("offset") for each in results] == [1, None, 2, 2, None, 3]
    assert results[3] == {**results[2], "status": 200}
    assert titles(app) == ["old", "new", "none"]
    assert [each["status"] for each in send(app, form(*notifications[:1])).get_json()["results"]] == [200]


def test_refusals_are_in_the_readers_language(app: SiarApp) -> None:
    raw = as_array({**BODY, "due_us": 1})

    (english,), (indonesian,) = (
        send(app, raw, **{"Accept-Language": language}).get_json()["results"] for language in ("en", "id")
    )

    assert english["code"] == indonesian["code"]
    assert english["detail"] != indonesian["detail"]


def test_a_batch_that_is_too_much_now_is_held_back_as_a_whole_and_costs_nothing(tmp_path: Path) -> None:
    app = made_at_rest(tmp_path, publish_per_s_max=10)
    send(app, as_array(*[BODY] * 6))

    refused = send(app, as_array(*titled("a", "b", "c", "d", "e")))
    allowed = send(app, as_array(*titled("f", "g", "h", "i")))
    none_left = send(app, as_array(BODY))

    assert (refused.status_code, refused.get_json()["code"]) == (429, "publish_too_fast")
    assert int(refused.headers["Retry-After"]) >= 1
    assert allowed.status_code == 200
    assert none_left.status_code == 429
    assert titles(app)[6:] == ["f", "g", "h", "i"]


def test_what_cannot_be_read_does_not_count(tmp_path: Path) -> None:
    app = made_at_rest(tmp_path, publish_per_s_max=4)
    batches: list[list[object]] = [[BODY, {}, {}], [BODY, BODY, BODY], [{}, {}], [BODY, {}]]

    statuses = [send(app, as_array(*each)).status_code for each in batches]

    assert statuses == [200, 200, 200, 429]


@pytest.fixture
def trial(app: SiarApp, monkeypatch: pytest.MonkeyPatch) -> Trial:
    """Return a running trial."""
    order = TrialOrder("run", 0, 0, "sse", 1, 0, 1.0, 300, 0, 0)
    found = Trial(order, 0, 0, ends_us=77)
    monkeypatch.setattr(app.services.trials, "active", lambda: found if found.state == "running" else None)
    return found


def test_a_batch_that_would_disturb_a_trial_is_refused_as_a_whole(app: SiarApp, trial: Trial) -> None:
    answer = send(app, as_array(*titled("a", force=True), *titled("b")))

    problem = answer.get_json()
    assert (answer.status_code, problem["code"]) == (409, "publish_would_disturb")
    assert problem["ends_us"] == 77
    assert trial.state == "running"
    assert titles(app) == []


def test_a_batch_that_may_spoil_a_trial_does(app: SiarApp, trial: Trial) -> None:
    answer = send(app, as_array(*titled("a", "b", force=True), {"title": "bad"}))

    assert [each["status"] for each in answer.get_json()["results"]] == [201, 201, 400]
    assert trial.state == "voided"


def test_what_publishes_nothing_disturbs_no_trial(app: SiarApp, trial: Trial) -> None:
    trial.state = "done"
    send(app, as_array(*titled("a", idempotency_key="k")))
    trial.state = "running"

    answer = send(app, as_array(*titled("a", "else", idempotency_key="k"), {"title": "bad"}))

    assert [each["status"] for each in answer.get_json()["results"]] == [200, 409, 400]
    assert trial.state == "running"


@pytest.mark.parametrize(("error", "status"), [(BrokerAway, 503), (NotKept, 507)])
def test_what_the_broker_cannot_do_is_the_answer_to_all(
    tmp_path: Path, error: type[SiarError], status: int
) -> None:
    app = create_app(Settings(admin_token=TOKEN, runs_dir=tmp_path), broker=FailingBroker(error))

    assert send(app, as_array(BODY, BODY)).status_code == status


def test_a_stranger_sends_no_batch(app: SiarApp) -> None:
    raw, content_type = as_array(BODY)

    answer = app.test_client().post("/api/notifications", data=raw, content_type=content_type)

    assert answer.status_code == 401
    assert titles(app) == []
