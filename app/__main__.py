"""`python -m app`: what `./siar` runs."""

import sys

from app.cli import program

sys.exit(program())
