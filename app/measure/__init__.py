"""What is measured of the machine, and where it is kept."""
