"""Translation of those texts of a report that are not messages yet, by matching each to a pattern of the catalogue.

Such a text is English, and is recognised:

    "SSE faster by 0.120 ms [0.050, 0.210] at 6 clients"                          an English text
    "{arm} faster by {n} ms {i} at {where}"       catalogue `en`, compiled to a pattern
    "{arm} lebih cepat {n} ms {i} pada {where}"   catalogue `id`, the same key
    "SSE lebih cepat 0,120 ms [0,050; 0,210] pada 6 klien"

The content of a placeholder is translated recursively, so that nested sentences need no pattern of their own. The name of
a placeholder says what it may match (`PLACES`). A text that no pattern matches stays as it is. A test lists the texts of a
report that the catalogue lacks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, lru_cache
from typing import Any

from app import i18n
from app.core.messages import Message, Text
from app.i18n import LANGUAGES, catalogue
from app.lab.report.document import Document, Drawing, Kind, Section, Table
from app.lab.report.panel import Picture

PART = "report"

PLACES = {
    "n": re.compile(r"[-+±]?\d[\d.]*(?:e[-+]?\d+)?|-"),
    "i": re.compile(r"\[[^\]]*\]|-"),
    "ns": re.compile(r"\d+(?:, \d+)*(?: and \d+)?"),
}
"""Pattern of a placeholder by its name: a number, an interval, or whole numbers joined by commas and "and". Any other
placeholder matches any text. Digits may follow the name."""

BROKEN_BY = {"arm": re.compile(r"[;:()]")}
"""Characters that a placeholder never matches, by its name: an arm's name has none of these."""

TEXT_CHARS_MAX = 8000
"""Longest text that is translated: ten times the longest of the catalogue. Imported runs may have longer warnings."""

DEPTH_MAX = 12
"""Deepest nesting of texts in placeholders that is translated; a report's own texts need half of it."""

_ONLY_MESSAGES = (
    "headline.",
    "cause.",
    "load.headline.",
    "load.missed.",
    "load.limit.",
    "load.short.",
    "load.name.",
)
"""Beginnings of keys whose texts are never recognised, because they are made from messages only."""

_JOINED = ("list", "ns")

NAMES = frozenset(
    {
        *("arm", "list", "ns", "trials", "run", "started", "command", "hash", "code", "study", "environment"),
        *("path", "paths", "reason", "factor", "from", "to"),
    }
)
"""Placeholders for names, which stay as they are where the catalogue lacks them."""

_PLACE = re.compile(r"\{([a-z_]+)(\d*)\}")
_FORMAT = re.compile(r":[a-z_.0-9]+(?=\})")
_NUMBER = re.compile(r"(?:< )?[-+±]?\d+\.\d+(?: \*)?")
_INTERVAL = re.compile(r"\[([^,\]]+), ([^,\]]+)\]")
_WORD = re.compile(r"[a-z]{3}")

Translate = Callable[[Text], str]


@dataclass(frozen=True, slots=True)
class Pattern:
    """One text of the catalogue that has placeholders."""

    key: str
    literals: tuple[str, ...]
    """Texts before, between and after the placeholders; the first one tells most patterns apart."""
    places: tuple[str, ...]
    """Names of the placeholders, with digits."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """The English catalogue, prepared for matching."""

    whole: dict[str, str]
    """Key by text, for texts without placeholders."""
    with_places: tuple[Pattern, ...]
    """Texts with placeholders, those with the longest literals first."""


def translator(language: str) -> Translate:
    """Return a function that makes text from a message, and translates an English text of a report."""
    return _english if language == LANGUAGES[0] else _Translator(language)


def texts_of(document: Document) -> list[str]:
    """Return every English text of a document that has to be translated, each once, in order."""
    return list(dict.fromkeys(_texts(document)))


def known(text: Text) -> bool:
    """Tell whether a text can be translated completely: it is in the catalogue, consists of such texts, or has no words."""
    if not isinstance(text, str) or not _WORD.search(text):
        return True
    if recognised := _recognised(text):
        _, places = recognised
        return all(name.rstrip("0123456789") in NAMES or known(value) for name, value in places.items())
    return "; " in text and all(map(known, text.split("; ")))


class _Translator:
    """Translates English texts into one language, with a cache."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._depth = 0
        self._say = lru_cache(maxsize=None)(self._translated)

    def __call__(self, text: Text) -> str:
        if not isinstance(text, str):
            return i18n.text(text, self.language)
        if len(text) > TEXT_CHARS_MAX or self._depth == DEPTH_MAX:
            return text
        self._depth += 1
        try:
            return self._say(text)
        finally:
            self._depth -= 1

    def _translated(self, text: str) -> str:
        if _NUMBER.fullmatch(text):
            return text.replace(".", ",")
        if found := _INTERVAL.fullmatch(text):
            return f"[{self(found[1])}; {self(found[2])}]"
        recognised = _recognised(text)
        if recognised is None:
            return "; ".join(map(self, text.split("; "))) if "; " in text else text
        key, places = recognised
        translated = {name: self._placeholder(name, value) for name, value in places.items()}
        return _FORMAT.sub("", catalogue(self.language, PART)[key]).format(**translated)

    def _placeholder(self, name: str, value: str) -> str:
        """Translate the content of a placeholder; lists item by item."""
        if name.rstrip("0123456789") not in _JOINED:
            return self(value)
        words = catalogue(self.language, PART)
        *first, last = value.rpartition(" and ")
        items = [self(each) for each in first[0].split(", ")] if first[1] else []
        joined = words["list.comma"].join(items)
        return words["list.and"].format(first=joined, last=self(last)) if items else self(last)


def _english(text: Text) -> str:
    return text if isinstance(text, str) else i18n.text(text, LANGUAGES[0])


@lru_cache(maxsize=4096)
def _recognised(text: str) -> tuple[str, dict[str, str]] | None:
    """Return the key of the pattern that matches the text and the contents of its placeholders; `None` without a match."""
    patterns = _patterns()
    if key := patterns.whole.get(text):
        return key, {}
    for pattern in patterns.with_places:
        if (found := _Match(pattern, text).places()) is not None:
            return pattern.key, found
    return None


@cache
def _patterns() -> Patterns:
    whole = catalogue(LANGUAGES[0], PART)
    texts = {key: text for key, text in whole.items() if not key.startswith(_ONLY_MESSAGES)}
    joined = [
        _pattern(key, _FORMAT.sub("", text))
        for key, text in texts.items()
        if "{" in text and not key.startswith(("list.", "advice.stored", "warning.stored"))
    ]
    return Patterns(
        {text: key for key, text in texts.items() if "{" not in text},
        tuple(sorted(joined, key=lambda each: -sum(map(len, each.literals)))),
    )


def _pattern(key: str, text: str) -> Pattern:
    names = tuple(name + digits for name, digits in _PLACE.findall(text))
    return Pattern(key, tuple(_PLACE.split(text)[::3]), names)


class _Match:
    """The match of one pattern with one text: placeholders as short as possible, from left to right, like `(.+?)`.

    A regular expression with five such groups backtracks over all divisions of a text: a minute for 3 kB of hostile input.
    This class remembers positions from which a placeholder could not match, so that each is tried once per placeholder.
    """

    def __init__(self, pattern: Pattern, text: str) -> None:
        self._pattern, self._text = pattern, text
        self._hopeless: dict[int, tuple[int, int]] = {}
        """Ranges of positions by placeholder, from which it and the rest of the pattern cannot match."""

    def places(self) -> dict[str, str] | None:
        """Return the content of each placeholder; `None` when the pattern does not match."""
        literals, text = self._pattern.literals, self._text
        if not text.startswith(literals[0]) or not text.endswith(literals[-1]):
            return None
        spans = self._rest(0, len(literals[0]))
        if spans is None:
            return None
        return {name: text[a:b] for name, (a, b) in zip(self._pattern.places, spans, strict=True)}

    def _rest(self, place: int, start: int) -> list[tuple[int, int]] | None:
        """Return the spans of this placeholder and all after it, if it begins here; `None` without a match."""
        if place == len(self._pattern.places):
            return []
        first, until = self._hopeless.get(place, (0, 0))
        if first <= start < until:
            return None
        for end in self._ends(place, start):
            following = self._rest(place + 1, end + len(self._pattern.literals[place + 1]))
            if following is not None:
                return [(start, end), *following]
        self._hopeless[place] = start, self._reach(place, start)
        return None

    def _ends(self, place: int, start: int) -> Iterator[int]:
        """Yield the positions where the placeholder may end, each followed by the next literal."""
        text, literal = self._text, self._pattern.literals[place + 1]
        form, reach = PLACES.get(self._kind(place)), self._reach(place, start)
        if form is not None:
            longest = form.match(text, start)
            reach = longest.end() if longest else start
        if place == len(self._pattern.places) - 1:
            candidates: Iterable[int] = (len(text) - len(literal),)
        elif form is not None:
            candidates = range(reach, start, -1)
        else:
            candidates = _each(text, literal, start + 1)
        for end in candidates:
            if end > reach and form is None:
                return
            is_there = start < end <= reach and text.startswith(literal, end)
            if is_there and (form is None or form.fullmatch(text, start, end)):
                yield end

    def _reach(self, place: int, start: int) -> int:
        """Return up to where the placeholder may extend; one that has a pattern of its own is tried from each position."""
        kind = self._kind(place)
        if kind in PLACES:
            return start + 1
        broken = BROKEN_BY[kind].search(self._text, start) if kind in BROKEN_BY else None
        return broken.start() if broken else len(self._text)

    def _kind(self, place: int) -> str:
        return self._pattern.places[place].rstrip("0123456789")


def _each(text: str, literal: str, start: int) -> Iterator[int]:
    """Yield the positions of a literal in a text, from `start` on."""
    at = text.find(literal, start)
    while at >= 0:
        yield at
        at = text.find(literal, at + 1)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a document or a part of one, without names, verbatim tables and drawn lines."""
    match value:
        case Kind():
            return
        case str():
            yield value
        case tuple() | list():
            for each in value:
                yield from _texts(each)
        case Drawing(heading, picture):
            yield from _texts((heading, *_texts_of_picture(picture)))
        case Table():
            yield from _texts(value.headings)
            yield from () if value.verbatim else _texts(value.rows)
        case Message():
            return
        case _ if is_dataclass(value):
            for each in fields(value):
                if not (isinstance(value, Section) and each.name == "name"):
                    yield from _texts(getattr(value, each.name))


def _texts_of_picture(picture: Picture) -> list[Text]:
    found: list[Text] = []

    def note(text: Text) -> str:
        found.append(text)
        return _english(text)

    picture.svg(note)
    return found
