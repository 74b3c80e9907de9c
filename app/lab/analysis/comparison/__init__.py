"""Arms against each other, block by block: differences, intervals, equivalence and a verdict.

Promise: the unit of analysis is the block difference; a verdict follows from its interval and the margin alone.
May import `columns`, `groups`, `statistics` and `words` of this package, and `core`.
"""
