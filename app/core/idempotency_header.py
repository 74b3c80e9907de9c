"""The request header `Idempotency-Key`, another spelling of a publish's `idempotency_key`.

The draft (draft-ietf-httpapi-idempotency-key-header) makes it a string in double quotes (RFC 8941, section 3.3.3).
Most clients send the key without quotes; both spellings are the same key.
"""

from __future__ import annotations

import re

CHARS_MAX = 128
"""As for the member of the body."""

PATTERN = rf'^("([ !#-\[\]-~]|\\["\\]){{1,{CHARS_MAX}}}"|[!#-+\--:<-\[\]-~]{{1,{CHARS_MAX}}})$'
"""In double quotes, or bare: then without quote, comma, semicolon and backslash."""

_HEADER = re.compile(PATTERN.removeprefix("^").removesuffix("$"))
_ESCAPED = re.compile(r"\\(.)")


def parse_key(header: str) -> str | None:
    """The key, or `None` where the header holds none."""
    value = header.strip(" \t")
    if _HEADER.fullmatch(value) is None:
        return None
    return _ESCAPED.sub(r"\1", value[1:-1]) if value.startswith('"') else value
