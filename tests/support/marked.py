"""A language of marks: what a page shows in it and still has letters is from no catalogue."""

from __future__ import annotations

import html
import json
import re
from functools import cache

import pytest

from app import i18n
from app.i18n import LANGUAGES
from app.lab.analysis.validity.checks import OWN_CODES
from app.lab.studies.published import studies

MARKED = "marked"

MARK = "¤"

WORDS = re.compile(r"[^\W\d_]{3,}")

NAMES = {
    *("sse", "socketio", "SSE", "Socket", "WebRTC", "WebSocket", "uWebSockets", "RFC", "psutil", "Cliff"),
    *("kbit", "KiB", "MiB"),
}
"""Words that are the same in every language: transports, standards, units."""


def teach(monkeypatch: pytest.MonkeyPatch) -> str:
    """Make texts available in the language of marks; return its name."""
    catalogue_of = i18n.catalogue

    @cache
    def catalogue(language: str, part: str) -> dict[str, str]:
        texts = catalogue_of(LANGUAGES[0] if language == MARKED else language, part)
        return {key: _marked(text) for key, text in texts.items()} if language == MARKED else texts

    monkeypatch.setattr(i18n, "catalogue", catalogue)
    return MARKED


def words_of_no_catalogue(shown: str, *names: object) -> set[str]:
    """Return the words of a page or a terminal that are neither from a catalogue nor names.

    `names`: values whose words are names, as JSON can have them. The titles of the studies and codes of warnings are, too.
    Raises `AssertionError` for a page without texts.
    """
    labels = " ".join(re.findall(r'aria-label="([^"]*)"', shown))
    text = html.unescape(
        re.sub(r"<style>.*?</style>|</?[a-zA-Z!][^>]*>", " ", f"{shown} {labels}", flags=re.DOTALL)
    )
    assert MARK in text
    published = [(each["title"], each.get("authors"), each.get("institution")) for each in studies()]
    known = json.dumps([published, sorted(OWN_CODES), names], ensure_ascii=False, default=str)
    return set(WORDS.findall(text)) - set(WORDS.findall(known)) - NAMES


def _marked(text: str) -> str:
    """Put a mark in place of each letter outside of placeholders."""
    return re.sub(r"(\{[^}]*\})|[^\W\d_]", lambda found: found[1] or MARK, text)
