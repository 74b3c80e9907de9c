"""Checks whether this machine and its network are fit to serve phones and to measure.

Nothing is changed. Each check returns a `Finding`; `examine` defines which checks are made when:

    machine_checks    processor, disk, open files, clocks
    network_checks    port, address, firewall, other devices
    service_checks    a running service as a client sees it: directly, or through a proxy
"""
