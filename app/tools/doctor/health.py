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
from app.core.exit_codes import EXIT_FAILURE, EXIT_OK
from app.tools.doctor import ask
from app.tools.doctor.subject import Subject, subject_of

TIMEOUT_S = 1.2
"""Timeout of each of two attempts; the container's health check has three seconds."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 if the server answers 200, else 1."""
    parser = argparse.ArgumentParser(prog="python -m app.tools.doctor.health", description=__doc__)
    parser.add_argument("--host", help="where `serve --host` listens, if SIAR_HOST does not say it")
    parser.add_argument("--port", type=int, help="likewise of `serve --port`")
    given = parser.parse_args(arguments)
    try:
        settings = settings_module.read(os.environ, host=given.host, port=given.port)
        subject = subject_of(settings)
    except SiarError as error:
        print(f"siar: {error}", file=sys.stderr)
        return EXIT_FAILURE
    # `serve --https` creates a certificate that no setting mentions, so HTTPS is tried in any case.
    answers = [_answer(replace(subject, is_secure=is_secure)) for is_secure in {subject.is_secure, True}]
    if "200" not in answers:
        print(f"siar: not healthy: GET /healthz: {', '.join(answers)}", file=sys.stderr)
    return EXIT_OK if "200" in answers else EXIT_FAILURE


def _answer(subject: Subject) -> str:
    try:
        return str(ask.get(subject.url(subject.local()), "/healthz", timeout_s=TIMEOUT_S)[0])
    except ask.TROUBLE as error:
        return str(error)


if __name__ == "__main__":
    sys.exit(main())
