"""CPU clocks of processes and the conditions of the host."""
