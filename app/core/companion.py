"""The mark on the command line of what a server runs beside itself: by it who measures the server leaves it out."""

from __future__ import annotations

COMPANION = ("-X", "siar-companion")
"""An option of the interpreter that changes nothing."""
