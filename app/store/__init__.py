"""Runs on disk: one SQLite file per run, its rows, the spool, plan files, and the archive of all runs.

A run is append-only and has one writer. Imports `core`, `clock`, `settings` and `i18n`.
"""
