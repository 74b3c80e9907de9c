"""The push service: order and history, fan-out, transports, WSGI workers, the room and the views.

Imports `store`, `core`, `clock`, `settings` and `i18n`; no module of `lab` or `tools`.
"""
