"""Views of runs: start, control, download, compare and delete runs; presets and trials."""
