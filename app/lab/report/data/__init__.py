"""Results for programs: JSON, CSV and Parquet, with the same values as the report for people.

A value that does not exist is null or empty, never 0. Times and units are in the columns' names.
Imports `figures` for effects of factors, and `statements`.
"""
