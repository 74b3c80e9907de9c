"""Experiments: the runner, its clients, server and client processes, and progress reports.

A run's plan is executed trial by trial, and each trial is in the store when it is over.
Imports `lab/analysis`, `lab/measure`, `lab/report`, `store`, and the server's room and timers.
"""
