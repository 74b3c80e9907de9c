"""Does the phone page load with everything that it refers to: styles, scripts, and what those import.

Below a prefix that a proxy and the service do not agree on, the page itself comes and nothing else. What a proxy serves in
the place of a file that it does not find is often a page, with status 200.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

from app.tools.doctor import ask
from app.tools.doctor.finding import Finding, fail, ok

NAME = "page"

FILES_MAX = 200
"""Three times what the page has."""

_IMPORTS = re.compile(r"""(?:from|import)\s*\(?\s*["'](\.{1,2}/[^"']+)["']""")


def look(url: str) -> Finding:
    """Check that each file of the page comes with its own content type."""
    page = url.rstrip("/") + "/"
    files = [page]
    for each in files:
        try:
            answer = ask.request("GET", each)
        except ask.TROUBLE as trouble:
            return fail(NAME, "no_answer", url=each, reason=str(trouble) or type(trouble).__name__)
        if answer.status != 200:
            return fail(NAME, "missing", url=each, status=answer.status)
        if each != page and answer.content_type == "text/html":
            return fail(NAME, "another", url=each)
        text = answer.body.decode(errors="replace")
        found = _references(text) if each == page else _IMPORTS.findall(text)
        there = [urljoin(each, reference) for reference in found]
        new = [name for name in dict.fromkeys(there) if _is_beside(name, page) and name not in files]
        files += new[: max(0, FILES_MAX - len(files))]
    return (
        ok(NAME, "whole", url=page, count=len(files)) if len(files) > 1 else fail(NAME, "another", url=page)
    )


def _references(page: str) -> list[str]:
    reader = _References()
    reader.feed(page)
    return reader.found


def _is_beside(url: str, page: str) -> bool:
    return urlsplit(url)[:2] == urlsplit(page)[:2]


class _References(HTMLParser):
    """Notes what a browser loads with a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for each element."""
        name = {"link": "href", "script": "src", "img": "src"}.get(tag)
        value = dict(attrs).get(name) if name else None
        if value:
            self.found.append(value)
