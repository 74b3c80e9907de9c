"""The generated parts of docs/commands.md, settings.md and http-api.md are those of the code of today."""

from __future__ import annotations

import dataclasses

import pytest

from app.cli.main import COMMANDS
from app.server.web.service import openapi
from app.settings import RANGES, Settings, environment_name
from tests.tools.reference import __main__ as reference
from tests.tools.reference import commands, http_api, markdown, settings


def text_of(name: str) -> str:
    return (reference.DOCS / name).read_text(encoding="utf-8")


def test_every_page_is_that_of_the_code_of_today() -> None:
    stale = [
        path.name for path, text in reference.wanted().items() if path.read_text(encoding="utf-8") != text
    ]

    assert stale == [], "a flag, a setting or a request changed: run `python -m tests.tools.reference`"


def test_every_command_has_a_section_with_its_flags() -> None:
    page = text_of("commands.md")

    for name in COMMANDS:
        assert f"\n### `./siar {name}`\n" in page
    flags = {flag for action in commands.parser_of("load")._actions for flag in action.option_strings}
    assert {flag for flag in flags - {"-h", "--help"} if f"| `{flag}" not in page} == set()


def test_every_setting_has_a_row_with_its_default_and_the_handed_down_ones_stand_apart() -> None:
    page = text_of("settings.md")

    for field in dataclasses.fields(Settings):
        assert f"\n| `{environment_name(field.name)}` |" in page
    apart = page.split("hand these to each other")[1]
    assert all(f"| `{environment_name(name)}` |" in apart for name in settings.HANDED_DOWN)
    assert "| `SIAR_HISTORY_BYTES` | `16777216` (16 MiB) | 1,024 to 1,099,511,627,776 bytes |" in page
    assert "| `SIAR_HEARTBEAT_S` | `15` | 0.05 to 3,600 s |" in page


def test_every_range_is_that_of_a_setting() -> None:
    assert set(RANGES) <= {field.name for field in dataclasses.fields(Settings)}


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("retry_ms", "ms"),
        ("queue_bytes_max", "bytes"),
        ("publish_age_max_s", "s"),
        ("packets_per_s_max", "per second"),
        ("retention_days", "days"),
        ("workers", ""),
    ],
)
def test_a_unit_is_read_from_the_name(name: str, unit: str) -> None:
    assert settings.unit(name) == unit


def test_every_request_of_the_openapi_document_is_listed() -> None:
    page = text_of("http-api.md")

    for path, methods in openapi.document()["paths"].items():
        for method in methods:
            assert f"\n| `{method.upper()} {path}` |" in page


def test_a_path_that_belongs_to_no_group_is_an_error() -> None:
    assert http_api.group_of("/api/runs/{run}/report") == "Experiments and runs"
    assert http_api.group_of("/api/selftests") == "Devices"
    with pytest.raises(LookupError):
        http_api.group_of("/api/dance")


def test_only_the_part_between_the_marks_is_replaced() -> None:
    page = f"before\n{markdown.BEGIN}\nold\n{markdown.END}\nafter\n"

    assert markdown.with_part(page, ["new"]) == f"before\n{markdown.BEGIN}\n\nnew\n\n{markdown.END}\nafter\n"
    with pytest.raises(ValueError, match="marks"):
        markdown.with_part("a page", ["new"])
