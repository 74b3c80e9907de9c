"""The broker whose history survives a restart, in one SQLite file."""
