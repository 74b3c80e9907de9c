"""Figures of one trial: delay, jitter, loss, CPU, and the parts of a delay.

Promise: the same record gives the same figures; what was not measured is `None` and never 0.
May import `columns`, `groups` and `statistics` of this package, and `core`.
"""
