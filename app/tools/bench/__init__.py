"""Cost of fan-out against a raw-socket floor: servers, subscriber swarm and publisher of `./siar bench`."""
