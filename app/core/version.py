"""The version of Siar, in one place."""

VERSION = "0.1.0"
