"""The contents of a run's report: sections, tables and explanations, as blocks of a `Document`.

Texts are messages where the catalogue has them; nothing here knows how a block looks.
Imports `document`, `figures` and `statements`.
"""
