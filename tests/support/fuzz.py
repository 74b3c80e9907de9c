"""How hard fuzzing tries: a little in every run of the suite, much with FUZZ_EXAMPLES=<number>.

Without that number the dice are the same every time, so that nobody's landing meets another's luck.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

_ASKED = os.environ.get("FUZZ_EXAMPLES", "")


def effort(examples: int) -> settings:
    """The settings of a property that is tried on `examples` inputs unless told otherwise."""
    return settings(
        max_examples=int(_ASKED) if _ASKED else examples,
        derandomize=not _ASKED,
        deadline=None,  # A machine may be busy; a server that hangs is found by the test's own time limits.
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
"""What JSON may say, NaN included, which `json.dumps` writes and nobody should take."""
