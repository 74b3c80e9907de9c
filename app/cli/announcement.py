"""Terminal output of a starting service: the links for phones, the operator and the screen, and a QR code.

The code is dark on light whatever the terminal's colours are, so that every phone can read it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

import segno

from app.i18n import Words
from app.server.room.invitation import screen_key
from app.server.tls.keep import Files, fingerprint
from app.settings import Settings
from app.tools.doctor import show
from app.tools.doctor.finding import Finding, FindingState
from app.tools.doctor.subject import Subject

TOKEN_CHARS_MIN = 12
"""Shorter tokens are accepted with a warning: a stranger on the LAN can try many."""

QUIET_MODULES = 2
"""Light margin around the code. The standard requires four modules; phones read it with two, and a terminal is
small."""

DARK_ON_LIGHT, AS_BEFORE = "\x1b[30;107m", "\x1b[0m"

HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
"""Two modules per character, one above the other, because characters are about twice as high as wide."""


@dataclass(frozen=True, slots=True)
class Links:
    """The addresses printed at the start."""

    phones: tuple[str, ...]
    """The likeliest address first; without a LAN, this machine's own."""
    operator: str
    """A one-time link: it opens one session."""
    screen: str


def links(settings: Settings, subject: Subject) -> Links:
    """Return the links for phones, the operator and the screen."""
    local = subject.url(subject.local())
    phones = [subject.url(address) for address in subject.lan()] or [local]
    # Over plain HTTP an operator may sign in on this machine only, unless the setting allows more.
    is_safe = subject.is_secure or settings.admin_over_http
    return Links(
        phones=tuple(f"{url}/" for url in phones),
        operator=f"{phones[0] if is_safe else local}/admin?key={settings.operator_key}",
        screen=f"{phones[0]}/screen?key={screen_key(settings.operator_key.encode())}",
    )


def print_findings(findings: Sequence[Finding], words: Words) -> None:
    """Print every finding that is not OK, and the number of those that are."""
    for line in show.lines([each for each in findings if each.state is not FindingState.OK], words):
        print(line)
    good = sum(each.state is FindingState.OK for each in findings)
    if good:
        print(f"  {words.say('serve.checks_ok', count=good)}")


def print_links(settings: Settings, subject: Subject, words: Words, *, files: Files | None, qr: bool) -> None:
    """Print the links and remarks; the QR code comes last, because phones are held up to it."""
    found = links(settings, subject)
    here = subject.url(subject.local())
    rows = [("phones", url) for url in found.phones]
    if not found.phones[0].startswith(here):
        rows.append(("here", f"{here}/"))
    if settings.workers == 1:
        rows += [("operator", found.operator), ("screen", found.screen)]
    rows.append(("publish", _curl(here, settings.admin_token, files)))
    labels = [words.say(f"serve.{name}") for name, _ in rows]
    width = max(len(label) for label in labels)
    print(words.say("serve.title"))
    for label, (_, what) in zip(labels, rows, strict=True):
        print(f"  {label:<{width}}   {what}")
    for line in _remarks(settings, subject, words, files, found):
        print(f"  {line}")
    code = qr_lines(found.phones[0])
    if qr and can_show(sys.stdout, code):
        print(*coloured(code), sep="\n")
        print(f"  {found.phones[0]}")
    print(words.say("serve.end"))


def _remarks(
    settings: Settings, subject: Subject, words: Words, files: Files | None, found: Links
) -> list[str]:
    remarks = []
    if settings.workers > 1:
        remarks.append(words.say("serve.workers", count=settings.workers))
    if subject.is_for_this_machine_only:
        remarks.append(words.say("serve.loopback"))
    if files is not None and files.is_ours:
        vouches = files.authority or files.certificate
        if files.authority is not None:
            remarks.append(words.say("serve.authority", url=f"{found.phones[0]}ca.crt"))
        else:
            remarks.append(words.say("serve.self_signed"))
        remarks.append(words.say("serve.fingerprint", fingerprint=fingerprint(vouches)))
    if len(settings.admin_token) < TOKEN_CHARS_MIN:
        remarks.append(words.say("serve.short_token", count=TOKEN_CHARS_MIN))
    return remarks


def _curl(url: str, token: str, files: Files | None) -> str:
    trust = (
        ""
        if files is None
        else f"--cacert {shlex.quote(str(files.trusted))} "
        if files.trusted
        else "--insecure "
    )
    bearer = shlex.quote(f"Authorization: Bearer {token}")
    return (
        f"curl {trust}-H {bearer} -H 'Content-Type: application/json' "
        f'-d \'{{"title": "Hello", "body": "from Siar"}}\' {url}/api/notifications'
    )


def qr_lines(text: str) -> list[str]:
    """Return the code as lines of text without colours."""
    code = segno.make(text, error="m", micro=False)
    rows = [[bool(module) for module in row] for row in code.matrix_iter(border=QUIET_MODULES)]
    rows += [[False] * len(rows[0])] * (len(rows) % 2)
    return [
        "".join(HALVES[pair] for pair in zip(upper, lower, strict=True))
        for upper, lower in zip(rows[::2], rows[1::2], strict=True)
    ]


def can_show(stream: TextIO, lines: Sequence[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the code can be shown: a terminal with colours, wide enough, whose encoding has the characters."""
    if not stream.isatty() or environment.get("TERM", "dumb") == "dumb":
        return False
    try:
        "".join(HALVES.values()).encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return shutil.get_terminal_size().columns >= len(lines[0])


def coloured(lines: Sequence[str]) -> list[str]:
    """Return the lines with terminal colours: dark on light."""
    return [f"{DARK_ON_LIGHT}{line}{AS_BEFORE}" for line in lines]
