"""The contents of a run's report: sections, tables and explanations, as blocks of a `Document`.

Texts are English, and nothing here knows how a block looks.
Imports `document`, `figures` and `statements`.
"""
