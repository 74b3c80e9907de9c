"""HTTPS for the commands that serve phones: the flags, and the certificate files that they name or create."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from app.core.errors import SettingError
from app.server.tls import keep
from app.settings import Settings
from app.tools.doctor.subject import subject_of

NAMES = ("https", "cert", "key")


def add_arguments(parser: argparse.ArgumentParser, when: str = "") -> None:
    """Add the flags; `when` is a prefix of their help that names the flag they depend on, if any."""
    parser.add_argument(
        "--https",
        choices=keep.WAYS,
        help=f"{when}with a certificate of our own: self (browsers warn once) or ca (phones install an authority once)",
    )
    parser.add_argument("--cert", type=Path, metavar="PEM", help=f"{when}HTTPS with this certificate")
    parser.add_argument("--key", type=Path, metavar="PEM", help=f"{when}and its key")


def with_certificate(settings: Settings, arguments: argparse.Namespace) -> tuple[Settings, keep.Files | None]:
    """Return the settings with a certificate, if one is requested. Raises `SettingError` and `Unfit`."""
    certificate = arguments.cert or (Path(settings.tls_cert) if settings.tls_cert else None)
    key = arguments.key or (Path(settings.tls_key) if settings.tls_key else None)
    if (certificate is None) != (key is None):
        raise SettingError("--cert and --key belong together: give both.")
    if certificate is not None and key is not None:
        if arguments.https:
            raise SettingError("--https makes a certificate, --cert brings one: give one of them.")
        files = keep.check_pair(certificate, key)
    elif arguments.https:
        files = keep.make(arguments.https, settings.runs_dir / ".tls", subject_of(settings).lan())
    else:
        return settings, None
    return replace(
        settings,
        tls_cert=str(files.certificate),
        tls_key=str(files.key),
        tls_authority=str(files.authority or ""),
    ), files
