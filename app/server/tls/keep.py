"""Stores certificates in one private folder (0700) across restarts, so that phones need not accept them again.

The server's certificate is renewed when this machine has other addresses, or when it is about to expire.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import importlib.util
import os
import re
import socket
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app import clock
from app.core.errors import SettingError, Unfit

if TYPE_CHECKING:
    from app.server.tls.issue import Signed

SELF = "self"
CA = "ca"
WAYS = (SELF, CA)

RENEW_DAYS = 30
"""A certificate is renewed this long before it expires, because a server may run for weeks."""


@dataclass(frozen=True, slots=True)
class Files:
    """The files that a server uses."""

    certificate: Path
    key: Path
    authority: Path | None = None
    """Certificate that a phone has to install; `None` if there is none."""
    is_ours: bool = False
    """Created here, so that browsers do not know it."""

    @property
    def trusted(self) -> Path | None:
        """The file that a client program has to trust; `None` if the system's trust store suffices."""
        return (self.authority or self.certificate) if self.is_ours else None


def make(way: str, folder: Path, addresses: Sequence[str]) -> Files:
    """Create or reuse a certificate for these addresses, this machine's names and loopback. Raises `Unfit`."""
    if importlib.util.find_spec("cryptography") is None:
        raise Unfit(
            f"--https {way} makes certificates with the package cryptography, which is missing. `./siar` installs "
            "it by itself; elsewhere: pip install -r requirements-https.txt. Or give --cert and --key."
        )
    names = dict.fromkeys([*addresses, "127.0.0.1", "::1", "localhost", *_own_names()])
    try:
        _make_folder(folder)
        return (
            _with_authority(folder, list(names), _now())
            if way == CA
            else _by_itself(folder, list(names), _now())
        )
    except (OSError, ValueError, TypeError) as error:
        raise Unfit(
            f"No certificate can be made in {folder}: {error}. Remove that folder, or give --cert and --key."
        ) from error


def _by_itself(folder: Path, names: list[str], now: datetime.datetime) -> Files:
    from app.server.tls import issue

    if _load(folder, SELF, now, names) is None:
        _store(folder, SELF, issue.server(names, now))
    return Files(*_paths(folder, SELF), is_ours=True)


def _with_authority(folder: Path, names: list[str], now: datetime.datetime) -> Files:
    from app.server.tls import issue

    authority = _load(folder, CA, now) or _store(folder, CA, issue.authority(_own_names()[-1], names, now))
    # The authority does not cover a public address that was added later: that one needs the user's own certificate.
    names = [name for name in names if issue.permits(authority.certificate, name)]
    stored = _load(folder, "server", now, names)
    if stored is None or not issue.is_signed_by(stored.certificate, authority.certificate):
        _store(folder, "server", issue.server(names, now, authority))
    return Files(*_paths(folder, "server"), authority=_paths(folder, CA)[0], is_ours=True)


def check_pair(certificate: Path, key: Path) -> Files:
    """Check the user's certificate and key. Raises `SettingError` if they do not work together."""
    for path in (certificate, key):
        if not path.is_file():
            raise SettingError(f"There is no file {path}; --cert and --key name PEM files.")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError.
        raise SettingError(
            f"{certificate} and {key} are no certificate and its key in PEM form, without a password: {error}."
        ) from error
    return Files(certificate.resolve(), key.resolve())


def fingerprint(certificate: Path) -> str:
    """Return the SHA-256 fingerprint of a certificate as phones show it: `3A:0F:...`."""
    der = ssl.PEM_cert_to_DER_cert(certificate.read_text(encoding="ascii"))
    return ":".join(f"{byte:02X}" for byte in hashlib.sha256(der).digest())


def _no_password() -> str:
    """Return an empty password; without this callback OpenSSL would ask on the terminal."""
    return ""


def _now() -> datetime.datetime:
    return datetime.datetime.fromtimestamp(clock.now_us() / 1e6, datetime.UTC)


def _own_names() -> list[str]:
    """Return this machine's host name and its mDNS name; a name that is invalid in DNS is left out."""
    host = socket.gethostname().partition(".")[0].lower()
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", host):
        return ["siar.local"]
    return [f"{host}.local", host]


def _make_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)  # `mkdir` respects the umask, and the folder may have existed.


def _load(
    folder: Path, name: str, now: datetime.datetime, names: Sequence[str] | None = None
) -> Signed | None:
    """Return the stored pair `name` if it is valid for a while and covers exactly `names`."""
    from app.server.tls import issue

    certificate, key = _paths(folder, name)
    try:
        found = issue.load(certificate.read_bytes(), key.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    if found.certificate.not_valid_after_utc - datetime.timedelta(days=RENEW_DAYS) < now:
        return None
    return found if names is None or issue.names_of(found.certificate) == set(names) else None


def _paths(folder: Path, name: str) -> tuple[Path, Path]:
    """Return the paths of certificate and key."""
    return (folder / f"{name}.pem").resolve(), (folder / f"{name}.key").resolve()


def _store(folder: Path, name: str, signed: Signed) -> Signed:
    certificate, key = _paths(folder, name)
    # A start that is killed between the two leaves a mismatched pair; the next one replaces it.
    _write(key, signed.key_pem())
    _write(certificate, signed.certificate_pem())
    return signed


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically; `mkstemp` creates it readable by its owner only."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
