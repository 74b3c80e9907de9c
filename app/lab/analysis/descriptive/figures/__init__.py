"""The catalogue of an arm's figures: name, unit, formula and source of each, grouped by ISO/IEC 25023.

Promise: a figure is a function of an arm's `SummaryRow` and `DescriptiveRow`; what the run did not measure is `None`.
May import `summary` and `descriptive/arm_rows` of `app.lab.analysis`.
"""
