"""Every text is there in every language, with the same places to fill in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from app.server.web.locale import CATALOGUES, LANGUAGES

PARTS = sorted(path.stem for path in (CATALOGUES / LANGUAGES[0]).glob("*.json"))


def _texts(path: Path) -> dict[str, str]:
    pairs = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=list)
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), "a key is there twice"
    return dict(pairs)


def _places(text: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)\}", text))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_languages_have_the_same_texts(language: str, part: str) -> None:
    ours = _texts(CATALOGUES / LANGUAGES[0] / f"{part}.json")
    theirs = _texts(CATALOGUES / language / f"{part}.json")

    assert set(theirs) == set(ours)
    assert {key: _places(text) for key, text in theirs.items()} == {
        key: _places(text) for key, text in ours.items()
    }


def test_every_language_has_every_part() -> None:
    for language in LANGUAGES:
        assert sorted(path.stem for path in (CATALOGUES / language).glob("*.json")) == PARTS
