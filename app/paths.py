"""Where the files next to the code are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The folder that holds `app`; child processes start there."""

STATIC = ROOT / "static"

TEMPLATES = ROOT / "templates"
