"""The script that says when a page does not load: it is part of the page, because it must not have to be loaded itself."""

from __future__ import annotations

import base64
import hashlib
import re

from app.paths import STATIC

LOADING_SCRIPT = re.sub(
    r"\n\s+", "\n", (STATIC / "js" / "loading.js").read_text(encoding="utf-8").partition("*/\n")[2].strip()
)
"""The script without its first comment and indentation, as pages have it."""

LOADING_HASH = f"sha256-{base64.b64encode(hashlib.sha256(LOADING_SCRIPT.encode()).digest()).decode()}"
"""Its hash for `script-src` (Content Security Policy Level 3, section 2.3.1): no other inline script runs."""
