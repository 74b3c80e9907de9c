"""The vocabulary that every process shares: standard library only, no I/O, no clock."""
