"""`python -m app`: what `./siar` runs."""

import sys

from app.cli import main

sys.exit(main(sys.argv[1:]))
