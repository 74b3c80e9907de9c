"""Certificates for HTTPS on a LAN: one that nobody vouches for, or a small authority that phones can be told to trust.

    self   one certificate, signed by itself: every browser warns once, and then measures
    ca     an authority, installed on each phone once; it signs the server's certificate, and no browser warns

`issue` makes them, `keep` keeps them from start to start.
"""
