"""Results on a terminal or in a log: 80 columns, readable without colour, nothing cut off.

Control characters in recorded text are replaced before they reach the terminal.
Imports `contents`, `statements` and what lies below them.
"""
