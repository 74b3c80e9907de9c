"""Reports of a run for people and programs, all written from one `Analysis`.

A report's text is decided in `contents`, drawn in `figures` and written by `renderers`; `data` writes JSON, CSV and Parquet.
Imports `lab/analysis`, `lab/studies`, `store` and what lies below them.
"""
