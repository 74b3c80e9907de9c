"""The address of a server, as a flag names it."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_base_url(text: str) -> bool:
    """Whether it is one, as in `http://127.0.0.1:8080` or `https://siar.example/`."""
    try:
        parts = urlsplit(text)
        # A port that is none is found out only by whoever asks for it.
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
