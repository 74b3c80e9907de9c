"""Fan-out cost against the raw-socket floor: servers, swarm and publisher of `./siar bench`."""
