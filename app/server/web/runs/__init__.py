"""Views of runs: list, start, report, comparison, and the background jobs that they need."""
