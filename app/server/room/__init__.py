"""The room: what gathers phones for one experiment. One per server, in memory, bounded."""
