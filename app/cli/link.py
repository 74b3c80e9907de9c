"""`./siar link`: create a new one-time operator link on the server that runs here."""

from __future__ import annotations

import argparse
import os

from app import settings as settings_module
from app.core.errors import Unfit
from app.core.exit_codes import EXIT_OK
from app.lab.run import api
from app.server.wsgi import server_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no flags: `SIAR_RUNS_DIR` selects the server."""


def execute(_arguments: argparse.Namespace) -> int:
    """Request a link from the server and print it alone on its line, so that a script can read it."""
    runs_dir = settings_module.read(os.environ).runs_dir
    server = server_file.read(runs_dir)
    if server.authority:
        os.environ["SSL_CERT_FILE"] = (
            server.authority
        )  # The server's own authority is not in the system's list.
    try:
        status, answer = api.ask("POST", f"{server.url}/api/links", token=server.token)
    except OSError as error:
        raise Unfit(f"The server at {server.url} does not answer: {error}.") from error
    if status != 201 or not isinstance(answer, dict):
        detail = answer.get("detail") if isinstance(answer, dict) else None
        raise Unfit(f"The server at {server.url} gave no link ({status}): {detail or 'no reason given'}")
    print(answer["url"])
    return EXIT_OK
