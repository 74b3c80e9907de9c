"""Certificates for HTTPS on a LAN: self-signed, or from a small certificate authority that phones can install.

    self   one self-signed certificate: every browser shows a warning once
    ca     an authority that is installed on each phone once; it signs the server's certificate, and no browser warns

`issue` creates them, `keep` stores them across restarts.
"""
