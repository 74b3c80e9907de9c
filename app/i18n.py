"""The words of pages and terminal: flat catalogues in static/i18n/<language>/<part>.json, which the pages' scripts read too."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.sentence import Sentence
from app.paths import STATIC

LANGUAGES = ("en", "id")
"""The first is what everybody else gets."""

CATALOGUES = STATIC / "i18n"

_LOCALES = {"id": "id", "in": "id", "en": "en"}
"""By the first letters of a locale; `in` is what Java and old systems call Indonesian."""


@functools.cache
def catalogue(language: str, part: str) -> dict[str, str]:
    """The texts of one part by key. Raises `OSError` for a part that there is not."""
    texts: dict[str, str] = json.loads((CATALOGUES / language / f"{part}.json").read_text(encoding="utf-8"))
    return texts


def terminal_language(environment: Mapping[str, str], asked: str | None = None) -> str:
    """The language of a terminal's reader: the one asked for by a flag, else the locale's, else English.

    `LC_ALL` wins over `LC_MESSAGES`, and that over `LANG` (POSIX, Base Definitions, section 8.2); an empty one counts as unset.
    """
    if asked:
        return asked
    locale = next((text for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (text := environment.get(name))), "")
    letters = locale.partition(".")[0].partition("_")[0].lower()
    return _LOCALES.get(letters, LANGUAGES[0])


SERVER = "server"
"""The part with what the server says by a code: why it refused something, what a runner noted, and how it ended."""

REFUSAL = "refusal."
REMARK = "remark."
ENDING = "ending."


def refusal(code: str, /, **places: object) -> Sentence:
    """Why something is refused. Raises `KeyError` for a code that there is not."""
    return _sentence(REFUSAL + code, places)


def remark(code: str, /, **places: object) -> Sentence:
    """What a runner lets people know. Raises `KeyError` for a code that there is not."""
    return _sentence(REMARK + code, places)


def ending(code: str, /, **places: object) -> Sentence:
    """Why a runner ended before its plan was done. Raises `KeyError` for a code that there is not."""
    return _sentence(ENDING + code, places)


def is_remark(code: str) -> bool:
    """Whether there is a remark of that code."""
    return REMARK + code in catalogue(LANGUAGES[0], SERVER)


@functools.cache
def _codes_by_text() -> dict[str, str]:
    words = catalogue(LANGUAGES[0], SERVER)
    return {text: key for key, text in words.items() if key.startswith(REFUSAL) and "{" not in text}


def recognised(text: str) -> Sentence | None:
    """A refusal by its English text, for what is said where no catalogue can be read (app/core); `None` for any other."""
    key = _codes_by_text().get(text)
    return None if key is None else Sentence(text, key, {})


def in_language(language: str, sentence: Sentence) -> str:
    """The same sentence in another language; a place may hold a word that is in the catalogue too (`phase.closed`)."""
    words = catalogue(language, SERVER)
    places = {
        name: in_language(language, value)
        if isinstance(value, Sentence)
        else words.get(f"{name}.{value}", value)
        for name, value in sentence.places.items()
    }
    return words[sentence.code].format(**places)


def from_json(said: Mapping[str, Any]) -> str:
    """What `app.core.sentence.to_json` made in another process. Raises `KeyError`, `TypeError`, `ValueError`."""
    if "code" not in said:
        return str(said["text"])
    places = {
        name: from_json(value) if isinstance(value, Mapping) else value
        for name, value in dict(said["parameters"]).items()
    }
    return _sentence(said["code"], places)


def _sentence(key: str, places: Mapping[str, object]) -> Sentence:
    return Sentence(catalogue(LANGUAGES[0], SERVER)[key].format(**places), key, places)


@dataclass(frozen=True, slots=True)
class Words:
    """One part's texts in one language."""

    language: str
    part: str = "terminal"

    def say(self, key: str, /, **places: object) -> str:
        """The text with its places filled in. Raises `KeyError` for a key that there is not."""
        return catalogue(self.language, self.part)[key].format(**places)
