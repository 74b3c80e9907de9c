"""Tools that look at a service from outside: doctor, calibrate, load, bench.

Each imports `lab` and what lies below it; only `load` imports another tool, `bench`.
"""
