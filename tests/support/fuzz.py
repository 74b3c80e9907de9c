"""Effort of fuzzing: a little in every run of the suite, much with FUZZ_EXAMPLES=<number>.

Without that number, examples are the same every time, so that no change fails because of another one's bad luck.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

_ASKED = os.environ.get("FUZZ_EXAMPLES", "")


def effort(examples: int) -> settings:
    """Return the settings of a property that is tried on `examples` inputs by default."""
    return settings(
        max_examples=int(_ASKED) if _ASKED else examples,
        derandomize=not _ASKED,
        deadline=None,  # The machine may be busy; a hanging server is found by the test's own timeouts.
        database=None,
        suppress_health_check=list(HealthCheck),
    )


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["../../x", "\r\nX: y", "\x1b[2J", "<script>", "%00", "é" * 50, "0" * 400]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=8) | st.sampled_from(["_placeholder", "num", "__proto__"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)
"""Any JSON value, including NaN, which `json.dumps` writes and nobody should accept."""
