"""Answers of /selftest: one record per device, for the operator only, bounded, and deleted on request."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.server.factory import create_app
from app.server.web.devices.self_test import STEPS_MAX
from app.server.web.locale import LANGUAGES, catalogue
from app.settings import Settings
from app.store.archive import self_tests
from app.store.archive.self_tests import FOLDER, RECORDS_MAX, SelfTestsFull

ROOT = Path(__file__).resolve().parents[2]

OPERATOR = {"Authorization": "Bearer t"}
FACTS = {"secure_context": False, "wake_lock": False, "timer_step_us": 0, "browser": "Chrome 156"}
PASSED = {"step": "clock", "state": "passed", "figures": {"bound_ms": 1.2}}

STEP = re.compile(r'^  \["(\w+)", "(?:auto|guided|asked)"\],$', re.MULTILINE)


@pytest.fixture
def client(tmp_path: Path) -> FlaskClient:
    return create_app(Settings(admin_token="t", runs_dir=tmp_path)).test_client(use_cookies=False)


def new_phone(client: FlaskClient) -> dict[str, str]:
    told = client.post("/api/devices", json={}).get_json()
    return {"Authorization": f"Bearer {told['device']}.{told['token']}"}


def post(client: FlaskClient, phone: dict[str, str], **members: Any) -> Any:
    body = {"language": "id", "facts": FACTS, "steps": [PASSED], **members}
    return client.post("/api/selftest", json=body, headers=phone)


def records(client: FlaskClient) -> list[dict[str, Any]]:
    answer = client.get("/api/selftests", headers=OPERATOR)
    assert answer.status_code == 200
    return list(answer.get_json()["records"])


def test_later_answers_of_a_phone_take_the_place_of_its_earlier_ones(client: FlaskClient) -> None:
    phone = new_phone(client)
    assert post(client, phone, remarks="first").status_code == 200
    assert post(client, phone, remarks="<b>second</b>").status_code == 200

    [record] = records(client)

    assert record["remarks"] == "<b>second</b>"
    assert record["steps"] == [{**PASSED, "reason": None}]
    assert record["facts"]["browser"] == "Chrome 156"
    assert record["schema"] == self_tests.SCHEMA


def test_only_phones_write_and_only_the_operator_reads(client: FlaskClient, tmp_path: Path) -> None:
    phone = new_phone(client)
    post(client, phone)

    assert client.post("/api/selftest", json={}).status_code == 401
    assert client.get("/api/selftests").status_code == 401
    assert client.get("/api/selftests", headers=phone).status_code == 401
    [path] = (tmp_path / FOLDER).iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / FOLDER).stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": [PASSED] * (STEPS_MAX + 1)},
        {"steps": [{**PASSED, "state": "perhaps"}]},
        {"steps": [{**PASSED, "figures": {"Bound ms": 1}}]},
        {"remarks": "x" * 1_001},
        {"language": "xx"},
        {"more": 1},
    ],
)
def test_what_is_no_record_is_refused(client: FlaskClient, wrong: dict[str, Any]) -> None:
    assert post(client, new_phone(client), **wrong).status_code == 400
    assert records(client) == []


def test_a_phone_that_has_itself_deleted_is_in_no_record(client: FlaskClient) -> None:
    gone, stays = new_phone(client), new_phone(client)
    post(client, gone, remarks="gone")
    post(client, stays, remarks="stays")

    assert client.delete("/api/deliveries", headers=gone).status_code == 200

    assert [each["remarks"] for each in records(client)] == ["stays"]


def test_beyond_the_limit_new_phones_are_refused_and_old_ones_are_not(
    client: FlaskClient, tmp_path: Path
) -> None:
    phone = new_phone(client)
    post(client, phone)
    for number in range(RECORDS_MAX - 1):
        (tmp_path / FOLDER / f"d-{number:016x}.json").write_text("{}", encoding="utf-8")

    with pytest.raises(SelfTestsFull):
        self_tests.keep(tmp_path, f"d-{RECORDS_MAX:016x}", {}, days=30)
    refused = post(client, new_phone(client))

    assert (refused.status_code, refused.get_json()["code"]) == (507, "self_tests_full")
    assert post(client, phone, remarks="again").status_code == 200


def test_records_are_kept_for_as_long_as_names_are(tmp_path: Path) -> None:
    self_tests.keep(tmp_path, "d-00000000000000aa", {}, days=30)
    path = tmp_path / FOLDER / "d-00000000000000aa.json"
    os.utime(path, (1, 1))

    assert len(self_tests.all_of(tmp_path, days=0)) == 1
    assert self_tests.all_of(tmp_path, days=30) == []
    assert not path.exists()


def test_a_record_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    self_tests.keep(tmp_path, "d-00000000000000aa", {"remarks": "fine"}, days=30)
    (tmp_path / FOLDER / "d-00000000000000bb.json").write_text("{", encoding="utf-8")
    (tmp_path / FOLDER / "d-00000000000000cc.json").symlink_to("/etc/hostname")

    assert [each["remarks"] for each in self_tests.all_of(tmp_path, days=30)] == ["fine"]


def test_script_page_and_words_have_the_same_steps() -> None:
    steps = STEP.findall((ROOT / "static/js/selftest/steps.js").read_text(encoding="utf-8"))
    page = (ROOT / "docs/phone-protocol.md").read_text(encoding="utf-8")

    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == steps
    assert len(steps) <= STEPS_MAX
    for language in LANGUAGES:
        words = catalogue(language, "selftest")
        for kind in ("step", "task"):
            assert [key for key in words if key.startswith(f"{kind}.")] == [
                f"{kind}.{each}" for each in steps
            ]


def test_every_reason_and_figure_of_the_scripts_has_its_words() -> None:
    scripts = "\n".join(
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "static/js/selftest").glob("*.js"))
    )
    reasons = {
        *re.findall(r'reason: "(\w+)"', scripts),
        "clock_wide",
        "silent",
        "unreachable",
        "buffered",
        "full",
    }
    words = set(json.loads((ROOT / "static/i18n/en/selftest.json").read_text(encoding="utf-8")))

    assert {f"reason.{each}" for each in reasons} == {key for key in words if key.startswith("reason.")}
