"""Checks of the instrument: typed warnings that void a trial or explain its figures.

Promise: the instrument is judged and never the result, from stored data alone, so that a later check agrees.
May import `columns`, `metrics` and `words` of this package, `core`, and `store` for stored clock probes.
"""
