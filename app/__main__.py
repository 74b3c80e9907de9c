"""`python -m app`: what `./siar` runs."""

import sys

from app.cli.main import program

sys.exit(program())
