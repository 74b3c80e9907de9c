"""Renderers: each writes a `Document` or an `Analysis` in one form for people.

Forms are HTML, Markdown, PDF, the terminal, and single drawings as SVG, PNG and PDF. Style sheets and fonts are here too.
Imports `contents`, `figures` and what lies below them; nothing of `data`.
"""
