"""Experiments: plans, the processes they need, the runner, and what it hands to the store."""
