"""Request header `Idempotency-Key`, an alternative to the member `idempotency_key` of a publish's body.

The draft (draft-ietf-httpapi-idempotency-key-header) defines a string in double quotes (RFC 8941, section 3.3.3).
Most clients send the key without quotes; both forms are the same key.
"""

from __future__ import annotations

import re

CHARS_MAX = 128
"""Greatest length of a key, the same as for the member of the body."""

PATTERN = rf'^("([ !#-\[\]-~]|\\["\\]){{1,{CHARS_MAX}}}"|[!#-+\--:<-\[\]-~]{{1,{CHARS_MAX}}})$'
"""A key in double quotes, or bare, and then without quote, comma, semicolon and backslash."""

_HEADER = re.compile(PATTERN.removeprefix("^").removesuffix("$"))
_ESCAPED = re.compile(r"\\(.)")


def parse_key(header: str) -> str | None:
    """Return the key, or `None` if the header holds no valid one."""
    value = header.strip(" \t")
    if _HEADER.fullmatch(value) is None:
        return None
    return _ESCAPED.sub(r"\1", value[1:-1]) if value.startswith('"') else value
