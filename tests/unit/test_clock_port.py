"""The clock channel's port is remembered by the service's port, in a bounded file that may be damaged or not be writable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.server.wsgi import clock_port


def test_each_service_finds_the_port_of_its_last_start(tmp_path: Path) -> None:
    clock_port.remember(tmp_path, 8000, 41_000)
    clock_port.remember(tmp_path, 9000, 42_000)
    clock_port.remember(tmp_path, 8000, 43_000)

    assert [clock_port.last_used(tmp_path, port) for port in (8000, 9000, 7000)] == [43_000, 42_000, 0]
    assert [path.name for path in tmp_path.iterdir()] == [clock_port.FILE_NAME]


def test_the_services_that_started_longest_ago_are_forgotten(tmp_path: Path) -> None:
    for number in range(1, clock_port.KEPT_MAX + 3):
        clock_port.remember(tmp_path, number, 40_000 + number)
    clock_port.remember(tmp_path, 3, 50_000)

    kept = json.loads((tmp_path / clock_port.FILE_NAME).read_text())
    assert list(kept) == [*(str(number) for number in range(4, clock_port.KEPT_MAX + 3)), "3"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"8000": "41000"}',
        '{"8000": 70000}',
        '{"8000": true}',
        '{"8000": 8000}',
        "[" * 4000,
    ],
)
def test_what_is_no_port_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / clock_port.FILE_NAME).write_text(text)

    assert clock_port.last_used(tmp_path, 8000) == 0

    clock_port.remember(tmp_path, 8000, 41_000)
    assert clock_port.last_used(tmp_path, 8000) == 41_000


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")

    clock_port.remember(tmp_path / "runs", 8000, 41_000)

    assert clock_port.last_used(tmp_path / "runs", 8000) == 0
