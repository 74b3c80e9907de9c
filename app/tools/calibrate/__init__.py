"""Test of the instrument with known answers: delays, jitter, losses and wrong clocks are injected and measured.

    server -> proxy that delays, drops, repeats, swaps or cuts, and records it -> built-in clients with a wrong clock
                          |                                                                     |
                        truth  ------------------------ compared ------------------------  measured

Server, proxy and clients are on one machine and share CLOCK_MONOTONIC, so the truth is known: the proxy stamps what it
held, and the clients' clocks are wrong by a formula. Measuring works as in every run: probes, clock model, matching,
metrics.
"""
