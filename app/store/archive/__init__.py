"""Operations on the runs of a folder: index, trash, retention, deletion of a device's data, export.

Files that Siar did not make are never deleted. Imports `store` and what `store` may import.
"""
