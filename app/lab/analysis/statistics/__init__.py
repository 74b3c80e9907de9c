"""Exact statistics of small samples: quantiles, intervals, tests, effect size and power.

Promise: functions of plain numbers, without random draws; the source of each formula stands in its module.
May import the standard library only, and within the package.
"""
