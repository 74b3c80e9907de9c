"""Translated texts of pages and terminal, from flat catalogues in static/i18n/<language>/<part>.json.

The pages' scripts read the same catalogues.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.messages import NOTHING, ROUGH_DIGITS, Message, Say, Text, number, short
from app.core.sentence import Sentence
from app.paths import STATIC

LANGUAGES = ("en", "id")
"""Supported languages; the first is the fallback for all others."""

CATALOGUES = STATIC / "i18n"

_LOCALES = {"id": "id", "in": "id", "en": "en"}
"""Language by the first letters of a locale; `in` is the code of Indonesian in Java and old systems."""


@functools.cache
def catalogue(language: str, part: str) -> dict[str, str]:
    """Return the texts of one part by key. Raises `OSError` for a part that does not exist."""
    texts: dict[str, str] = json.loads((CATALOGUES / language / f"{part}.json").read_text(encoding="utf-8"))
    return texts


def terminal_language(environment: Mapping[str, str], requested: str | None = None) -> str:
    """Choose the terminal's language: `requested` (a flag), else the locale's, else English.

    `LC_ALL` takes precedence over `LC_MESSAGES`, and that over `LANG` (POSIX, Base Definitions, section 8.2). An empty
    variable counts as unset.
    """
    if requested:
        return requested
    locale = next((text for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (text := environment.get(name))), "")
    letters = locale.partition(".")[0].partition("_")[0].lower()
    return _LOCALES.get(letters, LANGUAGES[0])


SERVER = "server"
"""The catalogue of server messages that have a code: refusals, a runner's remarks, and the ends of runs."""

REPORT = "report"
"""The catalogue of messages: reports and warnings."""

REFUSAL = "refusal."
REMARK = "remark."
ENDING = "ending."


def text(value: Text, language: str) -> str:
    """Return the text of a value. Raises `KeyError` for a message with an unknown key or without an argument.

    The format depends on the value's type, alone or as an argument of a message. A placeholder may give details:

        number        `{n}` as `app.core.messages.number` formats it, or by the format that is given (`{late_ms:.1f}`);
                      with three significant digits by `{n:short}`, with two by `{n:rough}`
        whole number  `{n}` its digits; thousands separated by `{n:,}`; with a noun, as in `{n:arrival}`, by
                      `count.arrival` or `count.arrivals`
        list          its items, as in a sentence, or joined by semicolons with `{items:;}`; counts by name, as in
                      `{n:state}`, each by `state.` and its name
        message       its text
        name          unchanged
        None          "-"
    """
    return format(_Argument(value, language), "")


def speaker(language: str) -> Say:
    """Return the function `text` for one language."""
    return functools.partial(text, language=language)


@dataclass(frozen=True, slots=True)
class _Argument:
    """A value for `str.format`, which calls `__format__` with what follows the colon of a placeholder, or with nothing."""

    value: object
    language: str

    def __format__(self, spec: str) -> str:
        words = catalogue(self.language, REPORT)
        match self.value:
            case Message():
                arguments = {name: _Argument(each, self.language) for name, each in self.value.args.items()}
                return words[self.value.key].format(**arguments)
            case None:
                return NOTHING
            case float() | int() if spec == "short":
                return _localised(short(self.value), words)
            case float() | int() if spec == "rough":
                return _localised(short(self.value, ROUGH_DIGITS), words)
            case int() if spec == ",":
                return _localised(f"{self.value:,}", words)
            case float():
                figure = format(self.value, spec) if spec.endswith(("f", "g")) else number(self.value)
                return figure.replace(".", words["decimal"])
            case int() if f"count.{spec}" in words:
                key = f"count.{spec}" if self.value == 1 else f"count.{spec}s"
                return words[key].format(n=_Argument(self.value, self.language))
            case Mapping():
                return self._listing(
                    [
                        words.get(f"{spec}.{name}", "{n} {name}").format(n=count, name=name)
                        for name, count in self.value.items()
                    ]
                )
            case tuple() | list() if spec == ";":
                return "; ".join(format(_Argument(each, self.language), "") for each in self.value)
            case tuple() | list():
                return self._listing([format(_Argument(each, self.language), spec) for each in self.value])
        return str(self.value)

    def _listing(self, items: Sequence[str]) -> str:
        words = catalogue(self.language, REPORT)
        if len(items) < 2:
            return "".join(items)
        return words["list.and"].format(first=words["list.comma"].join(items[:-1]), last=items[-1])


def _localised(figure: str, words: Mapping[str, str]) -> str:
    """Return a figure that is written with `,` between thousands and a decimal `.` as the catalogue writes it."""
    return figure.translate({ord(","): words["thousands"], ord("."): words["decimal"]})


def refusal(code: str, /, **places: object) -> Sentence:
    """Return the sentence for a refusal. Raises `KeyError` for an unknown code."""
    return _sentence(REFUSAL + code, places)


def remark(code: str, /, **places: object) -> Sentence:
    """Return the sentence for a runner's remark. Raises `KeyError` for an unknown code."""
    return _sentence(REMARK + code, places)


def ending(code: str, /, **places: object) -> Sentence:
    """Return the sentence that says why a runner ended before its plan was done. Raises `KeyError` for an unknown code."""
    return _sentence(ENDING + code, places)


def is_remark(code: str) -> bool:
    """Return True if a remark with this code exists."""
    return REMARK + code in catalogue(LANGUAGES[0], SERVER)


def in_language(language: str, sentence: Sentence) -> str:
    """Translate a sentence; the value of a placeholder is translated too where the catalogue has it (`phase.closed`)."""
    words = catalogue(language, SERVER)
    places = {
        name: in_language(language, value)
        if isinstance(value, Sentence)
        else words.get(f"{name}.{value}", value)
        for name, value in sentence.places.items()
    }
    return words[sentence.code].format(**places)


def from_json(encoded: Mapping[str, Any]) -> str:
    """Decode what `app.core.sentence.to_json` made in another process. Raises `KeyError`, `TypeError`, `ValueError`."""
    if "code" not in encoded:
        return str(encoded["text"])
    places = {
        name: from_json(value) if isinstance(value, Mapping) else value
        for name, value in dict(encoded["parameters"]).items()
    }
    return _sentence(encoded["code"], places)


def _sentence(key: str, places: Mapping[str, object]) -> Sentence:
    return Sentence(catalogue(LANGUAGES[0], SERVER)[key].format(**places), key, places)


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of one catalogue part in one language."""

    language: str
    part: str = "terminal"

    def say(self, key: str, /, **places: object) -> str:
        """Return the text with its placeholders filled in. Raises `KeyError` for an unknown key."""
        return catalogue(self.language, self.part)[key].format(**places)
