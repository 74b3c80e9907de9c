"""One file for each command of `./siar`; part of the command line, the top layer."""
