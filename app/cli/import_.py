"""`./siar import PATH`: check an exported run and add it to the local runs."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from app import settings as settings_module
from app.core.exit_codes import EXIT_OK
from app.lab.report.exchange.importer import import_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the archive's path."""
    parser.add_argument("path", type=Path, metavar="PATH", help="zip file or folder that `siar export` made")


def execute(arguments: argparse.Namespace) -> int:
    """Import the run and print which commands to use on it."""
    folder, has_manifest = import_run(arguments.path, settings_module.read(os.environ).runs_dir)
    print(f"Imported {folder.name}: {folder}.")
    if not has_manifest:
        print("It came without a manifest: nothing shows that it is as it was exported.")
    print(f"`siar verify {folder.name}` computes its figures again; `siar report {folder.name}` shows them.")
    return EXIT_OK
