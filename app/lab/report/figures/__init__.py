"""The figures of a report: panels to draw, their captions, and the numbers that each drawing shows.

Colours and lines come from a style sheet; each drawing has a text description.
Imports `document`, `panel` and `statements`.
"""
