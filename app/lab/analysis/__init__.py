"""Analysis of a run: numbers in, numbers out; no clock, no network, no writing.

Promise: the same record always gives the same analysis; a verdict comes from block differences alone.
Rooms, each importing only those before it: `statistics`, `metrics`, `validity` and `comparison`, `descriptive`.
May import `core`, and `store` for stored clock probes; nothing else of `lab`.
"""
