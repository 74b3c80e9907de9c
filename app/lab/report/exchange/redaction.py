"""Redaction of exported runs: tokens, passwords in URLs, names and addresses of machines, home folders.

The same value gets the same stand-in everywhere (`host-1`, `address-2`), so that references still match. Loopback addresses
stay, because they tell that the run used one machine. Values of fields that hold a version are not searched for addresses: a
kernel may be called 5.15.167.4.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

REMOVED = "removed"

SECRET_NAME = re.compile(r"token|secret|passw|credential|cookie|authorization|(^|[_.-])key$", re.IGNORECASE)

VERSION_NAMES = frozenset({"kernel", "python", "packages", "version", "cpu_model", "git_commit", "browser"})

FREE_TEXT = frozenset({"conditions", "args", "text", "advice", "absent", "failures", "troubles"})
"""Fields whose words systems or people chose, with all nested values: only these are searched for the machine's own name.
Other fields hold the plan's words and ours, which may also be a machine's name: `lan`, `demo`, `ok`."""

_USER = re.compile(r"(?<=://)[^/\s@\"'<>]+@")
_HOST = re.compile(r"(?<=://)(\[[0-9A-Fa-f:.%]+\]|[^/\s:?#\"'<>@\]]+)")
_QUERY = re.compile(r"([?&](?:key|token|code|access_token|ticket)=)[^&\s\"'#<>]+", re.IGNORECASE)
_BEARER = re.compile(r"\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_HOME = re.compile(r"(/home/|/Users/|\\Users\\)[^/\\\s\"']+")
_LOCAL_NAME = re.compile(r"\b[A-Za-z0-9][A-Za-z0-9-]*\.(?:local|lan|home|internal|localdomain|fritz\.box)\b")
_MAC = re.compile(r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b")
_IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)")
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f:]{2,}:[0-9A-Fa-f:.]*(?![\w:])")
_SHOWN = re.compile(r"<(?:style|script)\b.*?</(?:style|script)>|<[^>]*>|([^<]+)", re.DOTALL | re.IGNORECASE)

NAME_CHARS_MIN = 3
"""Length from which a machine's name is searched for inside texts. A shorter one ("pi", "a") is replaced only where it is
the whole value, because it cannot be told from a word."""


class Redactor:
    """Replaces secrets and machines of one run by stand-ins, and counts replacements by kind."""

    def __init__(self, own_names: Sequence[str] = ()) -> None:
        """Take the names of the exporting machine, which are searched for in values of `FREE_TEXT` fields."""
        self._own_names = {name.lower() for name in own_names} - {"", "localhost", "siar"}
        known = {name for name in self._own_names if len(name) >= NAME_CHARS_MIN}
        words = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True))
        self._own = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE) if words else None
        self._stand_ins: dict[tuple[str, str], str] = {}
        self.counts: Counter[str] = Counter()

    def value(self, value: Any, *, name: str = "", is_free: bool = False) -> Any:
        """Return a JSON value redacted, with all nested values. A value whose name says that it is secret is removed whole."""
        is_free = is_free or name in FREE_TEXT
        if isinstance(value, dict):
            inherited = name if name in VERSION_NAMES or SECRET_NAME.search(name) else ""
            return {
                self.text(key, is_free=is_free): self.value(each, name=inherited or str(key), is_free=is_free)
                for key, each in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.value(each, name=name, is_free=is_free) for each in value]
        if isinstance(value, str):
            if value and value != REMOVED and SECRET_NAME.search(name):
                return self._count("secret", REMOVED)
            if is_free and value.lower() in self._own_names:
                return self._stand_in("host", value)
            return self.text(value, is_version=name in VERSION_NAMES, is_free=is_free)
        return value

    def text(self, text: str, *, is_version: bool = False, is_free: bool = True) -> str:
        """Return a text with secrets, hosts and addresses replaced, and with the machine's own names if `is_free`."""
        text = _USER.sub(lambda _: self._count("password", ""), text)
        text = _QUERY.sub(lambda found: self._count("secret", found[1] + REMOVED), text)
        text = _BEARER.sub(lambda found: self._count("secret", found[1] + REMOVED), text)
        text = _HOME.sub(lambda found: self._count("home", found[1] + "user"), text)
        text = _HOST.sub(lambda found: self._host(found[0]), text)
        text = _LOCAL_NAME.sub(lambda found: self._stand_in("host", found[0]), text)
        text = _MAC.sub(lambda found: self._stand_in("address", found[0]), text)
        if not is_version:
            text = _IPV6.sub(lambda found: self._address(found[0]), text)
            text = _IPV4.sub(lambda found: self._address(found[0]), text)
        if is_free and self._own:
            text = self._own.sub(lambda found: self._stand_in("host", found[0]), text)
        return text

    def page(self, html: str) -> str:
        """Return an HTML page with its visible text redacted; tags, link targets, styles and scripts stay."""
        return _SHOWN.sub(lambda found: found[0] if found[1] is None else self.text(found[1]), html)

    def _host(self, host: str) -> str:
        if host.lower() == "localhost" or re.fullmatch(r"(?:host|address)-\d+", host):
            return host
        bare = host.strip("[]")
        return self._address(host, bare) if _is_address(bare) else self._stand_in("host", host)

    def _address(self, found: str, bare: str = "") -> str:
        bare = bare or found
        if not _is_address(bare):
            return found
        address = ipaddress.ip_address(bare)
        # `is_loopback` of an IPv4-mapped IPv6 address looks at the IPv4 address from Python 3.13 on only.
        address = getattr(address, "ipv4_mapped", None) or address
        if address.is_loopback or address.is_unspecified:
            return found
        return self._stand_in("address", bare)

    def _stand_in(self, kind: str, found: str) -> str:
        key = (kind, found.lower())
        if key not in self._stand_ins:
            number = 1 + sum(each == kind for each, _ in self._stand_ins)
            self._stand_ins[key] = f"{kind}-{number}"
        return self._count(kind, self._stand_ins[key])

    def _count(self, kind: str, replacement: str) -> str:
        self.counts[kind] += 1
        return replacement


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
