"""All runs of a folder: index, trash, retention, deletion of a device's data, export.

Nothing is deleted that Siar did not make. Imports `store` and what it may import.
"""
