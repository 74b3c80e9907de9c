"""CPU clocks of processes and the conditions of the host.

Promise: readings come from outside, without a request to the measured server; what cannot be read is `None`.
May import `core`, `clock` and `paths`; nothing else of `lab`.
"""
