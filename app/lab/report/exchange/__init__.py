"""Runs that leave this machine or come from another: export with redaction, import with checks.

An import trusts nothing that it reads, and leaves nothing behind when it refuses a run.
Imports `files`, `data` and `store`.
"""
