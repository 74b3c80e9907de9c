"""A report in another language: each sentence is known by its English pattern, and said again with the same figures.

The model speaks English, as `result.json` does, and warnings come from the store as they were written on the day of the
run. So sentences are not made twice; they are recognised:

    "SSE faster by 0.120 ms [0.050, 0.210] at 6 clients"                          what the model says
    "{arm} faster by {n} ms {i} at {where}"       catalogue `en`, compiled to a pattern
    "{arm} lebih cepat {n} ms {i} pada {where}"   catalogue `id`, the same key
    "SSE lebih cepat 0,120 ms [0,050; 0,210] pada 6 klien"

What stands in a place is translated in its turn, so that sentences within sentences need no pattern of their own. The name
of a place says what may stand in it (`PLACES`). A text that no pattern knows stays as it is: nothing is ever lost, and a
test names the texts that a report says and a catalogue lacks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, lru_cache
from typing import Any
from xml.sax.saxutils import escape, unescape

from app.i18n import LANGUAGES, catalogue
from app.lab.report.document import Document, Drawing, Kind, Section, Table

PART = "report"

PLACES = {
    "n": re.compile(r"[-+±]?\d[\d.]*(?:e[-+]?\d+)?|-"),
    "i": re.compile(r"\[[^\]]*\]|-"),
    "ns": re.compile(r"\d+(?:, \d+)*(?: and \d+)?"),
}
"""A number, an interval, or whole numbers joined by commas and "and"; any other name: anything. Digits may follow the name."""

BROKEN_BY = {"arm": re.compile(r"[;:()]")}
"""What stands in no arm's name."""

TEXT_CHARS_MAX = 8000
"""Ten times the longest text of the catalogue. Warnings come with runs of strangers: what is longer stays as it is."""

DEPTH_MAX = 12
"""So deep do texts stand in the places of others; beyond, they stay as they are. A report's own need half of it."""

_JOINED = ("list", "ns")

NAMES = frozenset(
    {
        *("arm", "list", "ns", "run", "started", "command", "hash", "code", "study", "environment"),
        *("path", "paths", "reason", "factor", "from", "to"),
    }
)
"""Places for what was named by somebody, and stays as it is where the catalogue does not know it."""

_PLACE = re.compile(r"\{([a-z_]+)(\d*)\}")
_NUMBER = re.compile(r"(?:< )?[-+±]?\d+\.\d+(?: \*)?")
_INTERVAL = re.compile(r"\[([^,\]]+), ([^,\]]+)\]")
_WORDS_IN_SVG = re.compile(r"(<(?:text|title|desc)\b[^>]*>)([^<]*)(?=</)")
_WORD = re.compile(r"[a-z]{3}")

Translate = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Pattern:
    """One text of the catalogue with places."""

    key: str
    literals: tuple[str, ...]
    """What stands before, between and behind its places; most texts are told apart by the first."""
    places: tuple[str, ...]
    """Their names, with digits."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """The English catalogue, ready to recognise."""

    whole: dict[str, str]
    """Key by text, of those without places."""
    with_places: tuple[Pattern, ...]
    """Those that say most themselves first."""


def translator(language: str) -> Translate:
    """What gives an English text of a report in a language; English stays as it is."""
    return _as_it_is if language == LANGUAGES[0] else _Translator(language)


def in_language(document: Document, language: str) -> Document:
    """The same document with every word and figure as that language writes it."""
    if language == document.language:
        return document
    found: Document = _mapped(document, translator(language))
    return replace(found, language=language)


def texts_of(document: Document) -> list[str]:
    """Every text of a document that a translation would have to say, each once, in order."""
    found: dict[str, None] = {}

    def note(text: str) -> str:
        found[text] = None
        return text

    _mapped(document, note)
    return list(found)


def known(text: str) -> bool:
    """Whether a text is in the catalogue with all that stands in it, or is made of such, or has no word to translate."""
    if not _WORD.search(text):
        return True
    if recognised := _recognised(text):
        _, places = recognised
        return all(name.rstrip("0123456789") in NAMES or known(value) for name, value in places.items())
    return "; " in text and all(map(known, text.split("; ")))


class _Translator:
    """Callable, so that renderers take it like the English one."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._depth = 0
        self._say = lru_cache(maxsize=None)(self._translated)

    def __call__(self, text: str) -> str:
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
        said = {name: self._in_place(name, value) for name, value in places.items()}
        return catalogue(self.language, PART)[key].format(**said)

    def _in_place(self, name: str, value: str) -> str:
        if name.rstrip("0123456789") not in _JOINED:
            return self(value)
        words = catalogue(self.language, PART)
        *first, last = value.rpartition(" and ")
        items = [self(each) for each in first[0].split(", ")] if first[1] else []
        joined = words["list.comma"].join(items)
        return words["list.and"].format(first=joined, last=self(last)) if items else self(last)


def _as_it_is(text: str) -> str:
    return text


@lru_cache(maxsize=4096)
def _recognised(text: str) -> tuple[str, dict[str, str]] | None:
    """The key of the text's pattern and what stands in its places."""
    patterns = _patterns()
    if key := patterns.whole.get(text):
        return key, {}
    for pattern in patterns.with_places:
        if (found := _Match(pattern, text).places()) is not None:
            return pattern.key, found
    return None


@cache
def _patterns() -> Patterns:
    texts = catalogue(LANGUAGES[0], PART)
    joined = [
        _pattern(key, text) for key, text in texts.items() if "{" in text and not key.startswith("list.")
    ]
    return Patterns(
        {text: key for key, text in texts.items() if "{" not in text},
        tuple(sorted(joined, key=lambda each: -sum(map(len, each.literals)))),
    )


def _pattern(key: str, text: str) -> Pattern:
    names = tuple(name + digits for name, digits in _PLACE.findall(text))
    return Pattern(key, tuple(_PLACE.split(text)[::3]), names)


class _Match:
    """One pattern laid on one text: places as short as can be, the first ones first, as a regular expression would.

    Such an expression with five places of anything tries all ways to cut a text: a minute for 3 kB from a stranger. Here
    it is remembered from where a place has led nowhere, so that each stretch of the text is tried once per place.
    """

    def __init__(self, pattern: Pattern, text: str) -> None:
        self._pattern, self._text = pattern, text
        self._hopeless: dict[int, tuple[int, int]] = {}
        """By place: it cannot begin from here to there."""

    def places(self) -> dict[str, str] | None:
        """What stands in each place; `None`: this is another text."""
        literals, text = self._pattern.literals, self._text
        if not text.startswith(literals[0]) or not text.endswith(literals[-1]):
            return None
        spans = self._rest(0, len(literals[0]))
        if spans is None:
            return None
        return {name: text[a:b] for name, (a, b) in zip(self._pattern.places, spans, strict=True)}

    def _rest(self, place: int, start: int) -> list[tuple[int, int]] | None:
        """Where this place and all behind it are, if it begins here."""
        if place == len(self._pattern.places):
            return []
        first, until = self._hopeless.get(place, (0, 0))
        if first <= start < until:
            return None
        for end in self._ends(place, start):
            behind = self._rest(place + 1, end + len(self._pattern.literals[place + 1]))
            if behind is not None:
                return [(start, end), *behind]
        self._hopeless[place] = start, self._reach(place, start)
        return None

    def _ends(self, place: int, start: int) -> Iterator[int]:
        """Where it may end, with the next literal behind it."""
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
        """How far it may go at most; one that has a form is tried from each beginning."""
        kind = self._kind(place)
        if kind in PLACES:
            return start + 1
        broken = BROKEN_BY[kind].search(self._text, start) if kind in BROKEN_BY else None
        return broken.start() if broken else len(self._text)

    def _kind(self, place: int) -> str:
        return self._pattern.places[place].rstrip("0123456789")


def _each(text: str, literal: str, start: int) -> Iterator[int]:
    """Where a literal stands in a text, from a position on."""
    at = text.find(literal, start)
    while at >= 0:
        yield at
        at = text.find(literal, at + 1)


def _mapped(value: Any, say: Translate) -> Any:
    """A document, or a part of one, with every word translated; names, measured words and drawn lines stay."""
    if isinstance(value, Kind):
        return value
    if isinstance(value, str):
        return say(value)
    if isinstance(value, tuple | list):
        return tuple(_mapped(each, say) for each in value)
    if isinstance(value, Drawing):
        return Drawing(say(value.heading), _drawing(value.svg, say))
    if isinstance(value, Table):
        rows = value.rows if value.verbatim else _mapped(value.rows, say)
        return replace(value, headings=_mapped(value.headings, say), rows=rows)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    kept = {"name"} if isinstance(value, Section) else {"language"}
    changed = {
        each.name: _mapped(getattr(value, each.name), say) for each in fields(value) if each.name not in kept
    }
    return replace(value, **changed)


def _drawing(svg: str, say: Translate) -> str:
    """The words of a drawing, its lines untouched."""
    return _WORDS_IN_SVG.sub(lambda found: found[1] + escape(say(unescape(found[2]))), svg)
