"""`./siar export RUN`: pack a run as a folder or zip with a manifest, without names or other personal data."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from app import settings as settings_module
from app.cli import measuring
from app.core.exit_codes import EXIT_OK
from app.lab.report.exchange.exporter import export_folder, export_zip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run, the format and the destination."""
    parser.add_argument("run", metavar="RUN", help="id of a run (`siar runs`) or path of its folder")
    parser.add_argument("--format", choices=["zip", "folder"], default="zip", help="default: zip")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="PATH",
        help="file or folder to make (default: RUN.zip or RUN-export here)",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Export the run and print the path."""
    folder = measuring.find_run(arguments.run, settings_module.read(os.environ)).resolve()
    if arguments.format == "zip":
        made = export_zip(folder, arguments.output or Path(f"{folder.name}.zip"))
    else:
        made = export_folder(folder, arguments.output or Path(f"{folder.name}-export"))
    print(
        f"{made}: the run without names, tokens, hosts and addresses. `siar import {made}` opens it elsewhere."
    )
    return EXIT_OK
