"""Plans of experiments: the plan, the order of its trials, and the limits of a classroom.

Pure values. Imports `core` only.
"""
