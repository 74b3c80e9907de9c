"""The vocabulary that every process shares: values, protocols without sockets, clock arithmetic, plans.

Standard library only; no I/O and no clock. Imports nothing else of `app`.
"""
