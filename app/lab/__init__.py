"""Experiments: what runs them, what measures, what analyses, and what reports.

Imports `server`, `store` and what lies below them; no module of `tools` or `cli`.
"""
