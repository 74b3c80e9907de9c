"""Each tier registers the same transports, and the page about them names the promises of the interface."""

from __future__ import annotations

import json
import re

import pytest

from app.core import transports as core
from app.core.wire import TRANSPORTS
from app.server import registry as server
from app.server.transports import base
from tests.support.server import ROOT

PAGE = ROOT / "docs/transports.md"

STATIC = ROOT / "static"


def promises_of(text: str) -> list[str]:
    """The numbered lines of a text, each with the lines that continue it."""
    found = re.findall(r"^(\d+\. .*(?:\n    ?\S.*)*)", text, re.MULTILINE)
    return [" ".join(each.split()).replace("`", "") for each in found]


def test_core_and_server_register_the_transports_in_the_order_of_their_names() -> None:
    assert tuple(each.name for each in core.REGISTERED) == TRANSPORTS
    assert tuple(each.name for each in server.REGISTERED) == TRANSPORTS


@pytest.mark.parametrize("name", TRANSPORTS)
def test_the_page_knows_every_transport(name: str) -> None:
    worker = (STATIC / "js/worker.js").read_text(encoding="utf-8")
    types = (STATIC / "js/types.js").read_text(encoding="utf-8")

    assert re.search(rf"^    {name}: async ", worker, re.MULTILINE)
    assert re.search(rf'@typedef {{.*"{name}".*}} Transport ', types)


@pytest.mark.parametrize("language", ["en", "id"])
@pytest.mark.parametrize("catalogue", ["phone", "experiment", "result"])
def test_every_transport_has_its_title_in_the_catalogues(language: str, catalogue: str) -> None:
    words = json.loads((STATIC / f"i18n/{language}/{catalogue}.json").read_text(encoding="utf-8"))

    assert {name: words.get(f"transport.{name}") for name in TRANSPORTS} == {
        each.name: each.title for each in core.REGISTERED
    }


def test_the_page_about_transports_has_the_promises_of_the_interface() -> None:
    promises = promises_of(base.__doc__ or "")

    assert [each.split(".")[0] for each in promises] == [str(number) for number in range(1, 15)]
    assert promises_of(PAGE.read_text(encoding="utf-8"))[: len(promises)] == promises
