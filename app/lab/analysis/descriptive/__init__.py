"""Descriptions of arms, clients and phones next to the comparison: no tests between arms, no verdict.

Promise: trials that do not count are left out, unless a field says otherwise; what was not measured is `None`.
May import the analysis itself (`analyse`, `summary`) and everything that it imports, but no comparison.
"""
