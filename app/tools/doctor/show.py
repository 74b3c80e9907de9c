"""Findings as lines for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from app.i18n import Words
from app.tools.doctor.finding import Finding, FindingState

SCHEMA_VERSION = 1
"""Of the JSON. 1: the first."""


def lines(findings: Iterable[Finding], words: Words) -> Iterator[str]:
    """A line for each, with its state in words, and one more for what to do next."""
    marks = {state: words.say(f"doctor.state.{state}") for state in FindingState}
    width = max(len(mark) for mark in marks.values())
    for finding in findings:
        yield f"  {marks[finding.state]:<{width}}  {finding.sentence(words)}"
        step = finding.next_step(words)
        if step is not None:
            yield f"  {'':<{width}}  {step}"


def as_json(findings: Sequence[Finding], words: Words) -> str:
    """The findings with their codes, for programs, and their sentences, for people."""
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "fit": all(finding.state is not FindingState.FAIL for finding in findings),
        "language": words.language,
        "checks": [
            {
                "name": finding.name,
                "state": finding.state.value,
                "code": finding.code,
                "sentence": finding.sentence(words),
                "next_step": finding.next_step(words),
                "values": {name: str(value) for name, value in finding.places.items()},
            }
            for finding in findings
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
