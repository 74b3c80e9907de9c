"""Pieces of Markdown that the reference pages share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

BEGIN = "<!-- reference: made by `python -m tests.tools.reference`, do not edit by hand -->"
END = "<!-- end of reference -->"


def with_part(page: str, lines: Iterable[str]) -> str:
    """Return the page with its generated part replaced. Raises `ValueError` where it has no marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError("the page has no marks around its generated part")
    return "\n".join([f"{before}{BEGIN}", "", *lines, "", f"{END}{after}"])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table; a bar within a cell is escaped."""
    yield _row(head)
    yield _row(["---"] * len(head))
    for row in rows:
        yield _row([cell.replace("|", "\\|") for cell in row])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def one_line(text: str) -> str:
    """Return the text with every run of spaces and line ends as one space."""
    return " ".join(text.split())
