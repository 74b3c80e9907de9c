"""Marker on the command line of a server's helper processes, by which CPU measurements exclude them."""

from __future__ import annotations

COMPANION = ("-X", "siar-companion")
"""An option of the interpreter that has no effect."""
