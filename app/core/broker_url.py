"""Where order and history live, as a URL: `memory://`, or `sqlite:///relative.db` and `sqlite:////absolute.db`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from app.core.errors import SettingError

SYNCHRONOUS = ("normal", "full")

FORMS = 'It must be "memory://", "sqlite:///FOLDER/FILE.db" or "sqlite:////ABSOLUTE/FOLDER/FILE.db".'


@dataclass(frozen=True, slots=True)
class BrokerUrl:
    """What the URL says."""

    path: Path | None
    """The file of the durable history; `None`: history ends with the process."""
    synchronous: str = "normal"
    """`"normal"`: flushed to the disk within about a second. `"full"`: before a publish is answered."""

    @property
    def kind(self) -> str:
        """What a stranger may know of it, and a run records: not the path."""
        return "memory" if self.path is None else f"sqlite, synchronous={self.synchronous}"


def parse_broker_url(text: str) -> BrokerUrl:
    """What `text` says. Raises `SettingError` in words; the disk is not looked at."""
    if text == "memory://":
        return BrokerUrl(None)
    parts = urlsplit(text)
    name = unquote(parts.path)[1:]
    if parts.scheme != "sqlite" or parts.netloc or parts.fragment or not text.startswith("sqlite:///"):
        raise SettingError(f'SIAR_BROKER is "{text}". {FORMS}')
    if not name or name.endswith("/") or name.startswith(":") or "\0" in name:
        raise SettingError(f'SIAR_BROKER is "{text}", which names no file. {FORMS}')
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    synchronous = options.pop("synchronous", "normal")
    if options or synchronous not in SYNCHRONOUS:
        raise SettingError(
            f'SIAR_BROKER is "{text}"; behind the file only ?synchronous=normal or ?synchronous=full may stand.'
        )
    return BrokerUrl(Path(name), synchronous)
