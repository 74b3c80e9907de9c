"""`python -m app.tools.doctor.health`: exit code 0 while the server that these settings describe answers; for containers.

It asks where that server listens (SIAR_HOST, SIAR_PORT, SIAR_TLS_CERT) and past all proxies of the environment.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from app import settings as settings_module
from app.core.errors import SiarError
from app.tools.doctor import ask
from app.tools.doctor.subject import Subject, subject_of

TIMEOUT_S = 1.2
"""For each of two ways; the container's check has three seconds."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 where it answers 200, 1 where not."""
    parser = argparse.ArgumentParser(prog="python -m app.tools.doctor.health", description=__doc__)
    parser.add_argument("--host", help="where `serve --host` listens, if SIAR_HOST does not say it")
    parser.add_argument("--port", type=int, help="likewise of `serve --port`")
    given = parser.parse_args(arguments)
    try:
        settings = settings_module.read(os.environ, host=given.host, port=given.port)
        subject = subject_of(settings)
    except SiarError as error:
        print(f"siar: {error}", file=sys.stderr)
        return 1
    # `serve --https` makes a certificate of which no setting knows.
    said = [_answer(replace(subject, is_secure=is_secure)) for is_secure in {subject.is_secure, True}]
    if "200" not in said:
        print(f"siar: not healthy: GET /healthz: {', '.join(said)}", file=sys.stderr)
    return int("200" not in said)


def _answer(subject: Subject) -> str:
    try:
        return str(ask.get(subject.url(subject.local()), "/healthz", timeout_s=TIMEOUT_S)[0])
    except ask.TROUBLE as error:
        return str(error)


if __name__ == "__main__":
    sys.exit(main())
