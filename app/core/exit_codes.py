"""Exit codes of the commands and of the service's child processes (docs/commands.md). They are part of the interface."""

from __future__ import annotations

EXIT_OK = 0
"""Success; also a run that was measured whole and decides nothing."""

EXIT_FAILURE = 1
"""The command did not do what it was asked for, or what it checks does not hold."""

EXIT_USAGE = 2
"""The command was refused as it was given: a flag, a setting, a token or a file named by it. argparse uses this code too."""

EXIT_UNFIT = 3
"""It cannot run on this machine as it is; of a load run also: the load generator was too slow to be believed; with
`--strict`: nothing was decided."""

EXIT_GATE = 99
"""A gate was missed, as in k6."""

EXIT_INTERRUPTED = 130
"""Stopped by Ctrl-C, SIGTERM or a closed terminal (SIGHUP): 128 + SIGINT, as a shell shows it."""

EXIT_READER_GONE = 141
"""The reader of its output has gone: 128 + SIGPIPE, as a shell shows it. The signal itself is ignored, because writing to a
closed socket would raise it too."""

EXIT_CODES: dict[str, int] = {name: value for name, value in globals().items() if name.startswith("EXIT_")}
"""All of them by name."""
