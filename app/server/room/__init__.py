"""The room in which phones gather for one experiment. One per server, in memory, bounded."""
