"""Numbers in, numbers out: what the trials of a run say. No clock, no network, no writing."""
