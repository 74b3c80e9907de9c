"""Version of Siar."""

VERSION = "0.1.0"
