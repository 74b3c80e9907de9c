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
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, lru_cache
from typing import Any
from xml.sax.saxutils import escape, unescape

from app.catalogues import LANGUAGES, catalogue
from app.report.document import Document, Kind, Section
from app.report.figure import Drawing
from app.report.tables import Table

PART = "report"

PLACES = {
    "n": r"[-+±]?\d[\d.]*(?:e[-+]?\d+)?|-",
    "i": r"\[[^\]]*\]|-",
    "arm": r"[^;:()]+?",
    "list": r".+?",
    "ns": r"\d+(?:, \d+)*(?: and \d+)?",
}
"""A number, an interval, an arm, items or whole numbers joined by commas and "and"; any other name: anything. Digits may
follow the name."""

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
    begins: str
    """What stands before its first place: most texts are told apart by that."""
    found: re.Pattern[str]
    literal_chars: int


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
        self._say = lru_cache(maxsize=None)(self._translated)

    def __call__(self, text: str) -> str:
        return self._say(text)

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
        if text.startswith(pattern.begins) and (found := pattern.found.fullmatch(text)):
            return pattern.key, found.groupdict()
    return None


@cache
def _patterns() -> Patterns:
    texts = catalogue(LANGUAGES[0], PART)
    joined = [
        _pattern(key, text) for key, text in texts.items() if "{" in text and not key.startswith("list.")
    ]
    return Patterns(
        {text: key for key, text in texts.items() if "{" not in text},
        tuple(sorted(joined, key=lambda each: -each.literal_chars)),
    )


def _pattern(key: str, text: str) -> Pattern:
    literals = _PLACE.split(text)[::3]
    names = _PLACE.findall(text)
    parts = [re.escape(literals[0])]
    for (name, digits), literal in zip(names, literals[1:], strict=True):
        parts.append(f"(?P<{name}{digits}>{PLACES.get(name, '.+?')}){re.escape(literal)}")
    return Pattern(key, literals[0], re.compile("".join(parts), re.DOTALL), sum(map(len, literals)))


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
