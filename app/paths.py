"""Paths of the folders that are shipped next to the code."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The folder that contains `app`; child processes use it as their working directory."""

STATIC = ROOT / "static"

TEMPLATES = ROOT / "templates"
