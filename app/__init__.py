"""Siar: a push-notification service that measures itself. Imports nothing, so that each process loads only its own part."""
