"""Labelled counters of `/metrics`: every label has a sample from the start, and none appears that is not known."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.core.wire import TRANSPORTS
from app.server.factory import create_app
from app.server.fanout import closed
from app.server.fanout.closed import CLOSED, CLOSED_SLOW, Closed
from app.settings import Settings
from tests.support.fanout_stage import Stage

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"

KNOWN: dict[str, dict[str, set[str]]] = {
    "siar_closed_connections": {"transport": set(TRANSPORTS), "reason": set(CLOSED)},
    "siar_deliveries": {"transport": set(TRANSPORTS)},
    "siar_history_answers": {"outcome": {"hit", "miss", "away"}},
    "siar_history_answers_seconds": {"outcome": {"hit", "miss", "away"}},
    "siar_refused_connections": {"reason": {"server_full", "address_full"}},
}
"""Labelled counters. A new one, or a new value of a label, is also told in docs/operations.md."""


@pytest.fixture
def samples(tmp_path: Path) -> dict[str, dict[frozenset[tuple[str, str]], float]]:
    """The labelled counters of a server to which nothing has happened yet."""
    app = create_app(Settings(admin_token="t", runs_dir=tmp_path))
    text = app.test_client().get("/metrics").get_data(as_text=True)
    return {
        family.name: {frozenset(each.labels.items()): each.value for each in family.samples}
        for family in text_string_to_metric_families(text)
        if family.type == "counter" and all(each.labels for each in family.samples)
    }


def products(values: dict[str, set[str]]) -> Iterable[frozenset[tuple[str, str]]]:
    """Each combination of labels."""
    return (
        frozenset(zip(values, each, strict=True)) for each in itertools.product(*map(sorted, values.values()))
    )


def test_every_known_label_of_a_counter_has_a_zero_from_the_start(
    samples: dict[str, dict[frozenset[tuple[str, str]], float]],
) -> None:
    assert samples == {name: dict.fromkeys(products(values), 0.0) for name, values in KNOWN.items()}


def test_a_label_that_is_not_known_is_an_error_and_no_further_series() -> None:
    stage = Stage()
    stock = stage.stock()

    with pytest.raises(KeyError):
        stage.fanout.unsubscribe(stock, cast(Closed, "boredom"))

    assert set(stage.fanout.closed) == set(itertools.product(("sse", "socketio"), CLOSED))
    stage.close()


def test_each_reason_of_an_end_has_its_constant_and_no_other_stands_elsewhere() -> None:
    constants = {value for name, value in vars(closed).items() if name.startswith("CLOSED_")}
    defined = [
        path.name
        for path in (Path(__file__).parents[2] / "app").rglob("*.py")
        if re.search(r"^CLOSED_\w+\b.*=", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]

    assert constants == set(CLOSED)
    assert defined == ["closed.py"]


def test_a_transport_of_somebody_else_is_counted_from_zero_too() -> None:
    stage = Stage()

    stage.fanout.register("lines", stage.sse)

    assert stage.fanout.sent["lines"] == stage.fanout.closed["lines", CLOSED_SLOW] == 0
    stage.close()


def test_the_documents_name_every_value_of_every_label() -> None:
    table = OPERATIONS.read_text(encoding="utf-8").partition("## Metrics")[2].partition("\n## ")[0]

    missing = [
        f"{name} {label} {value}"
        for name, values in KNOWN.items()
        for label, each in values.items()
        for value in each
        if f"`{value}`" not in table
    ]

    assert missing == []
