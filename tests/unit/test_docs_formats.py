"""The pages about formats and operations say what the code does: names, versions, settings, metrics, paths."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from app.core import wire
from app.core.delivery import Lifecycle, Outcome, SampleState
from app.lab.report.exchange import exporter
from app.server.broker.redis import scripts as redis_scripts
from app.server.broker.sqlite import journal_file
from app.server.web.devices import deliveries
from app.server.web.service import metrics
from app.settings import NOT_SETTINGS, Settings, environment_name
from app.store import schema

ROOT = Path(__file__).resolve().parents[2]

PAGES = tuple(sorted(path.stem for path in (ROOT / "docs").glob("*.md")))

PATH = re.compile(r"`((?:app|deploy|docs|loadtests|static|tests)/[A-Za-z0-9_./-]*)`")


def text_of(page: str) -> str:
    return (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")


def words_of(text: str) -> set[str]:
    """Whatever stands between backticks, and the words in it."""
    spans = set(re.findall(r"`([^`\n]+)`", text))
    return spans | {word for span in spans for word in re.findall(r"[A-Za-z0-9_.-]+", span)}


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_is_there(page: str) -> None:
    named = set(PATH.findall(text_of(page)))

    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_event_is_described() -> None:
    events = {getattr(wire, name) for name in vars(wire) if name.startswith("EVENT_")}
    described = re.findall(r"^\| `(\w+)` \| (?:the object|`\{)", text_of("formats"), re.MULTILINE)

    assert set(described) == events


def test_every_member_of_a_posted_batch_is_described() -> None:
    members = {
        name
        for kind in (deliveries.Batch, deliveries.Sample, deliveries.Conduct)
        for name in kind.__struct_fields__
    }

    assert members <= words_of(text_of("formats"))


@pytest.mark.parametrize("kind", [SampleState, Outcome, Lifecycle])
def test_every_state_of_a_sample_is_described(kind: type[SampleState | Outcome | Lifecycle]) -> None:
    assert {str(each) for each in kind} <= words_of(text_of("formats"))


def test_every_version_of_the_store_is_in_its_history_with_what_it_brought() -> None:
    part = text_of("formats").split("### The store")[1].split("\n### ")[0]
    rows = dict(re.findall(r"^\| (\d+) \| (.+) \|$", part, re.MULTILINE))

    assert sorted(map(int, rows)) == list(range(1, schema.VERSION + 1))
    assert f"`user_version` {schema.VERSION}," in part
    for table in schema.TABLES:
        assert f"`{table}`" in rows[str(schema.SINCE.get(table, 1))], table
    for table, added in schema.ADDED.items():
        for column, version in added.items():
            assert f"`{table}.{column.split()[0]}`" in rows[str(version)], (table, column)


def test_marks_of_files_and_keys_are_those_of_the_code() -> None:
    page = text_of("formats")

    assert f"{schema.APPLICATION_ID:#x}" in page.lower()
    assert f"{journal_file.APPLICATION_ID:#x}" in page.lower()
    assert f"`user_version` {journal_file.VERSION};" in page
    assert set(redis_scripts.NAMES) <= set(re.findall(r"`\{PREFIX\}:([a-z-]+)`", page))


def test_every_key_of_a_manifest_is_described() -> None:
    part = text_of("formats").split("### An export")[1].split("\n## ")[0]
    source = (
        (ROOT / "app/lab/report/exchange/exporter.py").read_text(encoding="utf-8").split("def _manifest(")[1]
    )
    keys = re.findall(r'^        "(\w+)":', source.split("\ndef ")[0], re.MULTILINE)

    assert keys[0] == "schema"
    assert f"| `schema` | {exporter.SCHEMA} |" in part
    assert set(keys) <= words_of(part) | {"files"}


def test_every_setting_that_operators_are_told_of_exists() -> None:
    named = {name for page in PAGES for name in re.findall(r"SIAR_[A-Z_]+[A-Z]", text_of(page))}

    assert len(named) > 10
    assert (
        named - NOT_SETTINGS - {environment_name(each.name) for each in dataclasses.fields(Settings)} == set()
    )


def test_every_metric_is_listed_and_no_other() -> None:
    part = text_of("operations").split("## Metrics")[1].split("\nAlerts")[0]
    listed = set(re.findall(r"`(siar_\w+)`", "".join(re.findall(r"^\| (`siar.+?) \|", part, re.MULTILINE))))
    families = {family.name + ("_total" if family.is_counter else "") for family in metrics.FAMILIES}

    assert listed == families
