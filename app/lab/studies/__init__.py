"""The published studies: their figures as printed, in tables with a run's own figures.

Promise: published values are shown as printed, with what is known against them; nothing is compared by a test.
May import `lab/analysis` and `core`.
"""
