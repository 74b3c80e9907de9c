"""Clock synchronisation: bounds of a client's clock offset from round trips, and the model of its rate.

Readings in, offsets with bounds out. Imports `core` only.
"""
