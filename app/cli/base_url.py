"""Check of a server's address that was given to a flag."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_base_url(text: str) -> bool:
    """Return whether `text` is a base URL, such as `http://127.0.0.1:8080` or `https://siar.example/`."""
    try:
        parts = urlsplit(text)
        # `urlsplit` parses the port lazily: reading it raises `ValueError` when it is invalid.
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
