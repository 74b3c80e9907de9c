"""The instrument tried with known answers: delays, jitter, losses and wrong clocks, injected and measured.

    server -> proxy that holds, drops, repeats, swaps or cuts, and keeps a record -> built-in clients with a wrong clock
                          |                                                                     |
                        truth  ------------------------ compared ------------------------  measured

Server, proxy and clients are on one machine and so on one CLOCK_MONOTONIC, which is why the truth is known: the
proxy stamps what it held, and the clients' wrong clocks are wrong by a formula. What is measured takes the same way as
in every run: probes, clock model, matching, metrics.
"""
