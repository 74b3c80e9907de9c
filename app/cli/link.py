"""`./siar link`: a new one-time link for the operator of the server that runs here."""

from __future__ import annotations

import argparse
import os

from app import settings as settings_module
from app.core.errors import Unfit
from app.lab.run import api
from app.server.wsgi import server_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No flags: `SIAR_RUNS_DIR` says which server is meant."""


def execute(_arguments: argparse.Namespace) -> int:
    """Ask the server for a link and print it, alone on its line, so that a script can take it."""
    runs_dir = settings_module.read(os.environ).runs_dir
    server = server_file.read(runs_dir)
    if server.authority:
        os.environ["SSL_CERT_FILE"] = server.authority  # Whom to believe is in nobody's list of authorities.
    try:
        status, answer = api.ask("POST", f"{server.url}/api/links", token=server.token)
    except OSError as error:
        raise Unfit(f"The server at {server.url} does not answer: {error}.") from error
    if status != 201 or not isinstance(answer, dict):
        detail = answer.get("detail") if isinstance(answer, dict) else None
        raise Unfit(f"The server at {server.url} gave no link ({status}): {detail or 'no reason given'}")
    print(answer["url"])
    return 0
