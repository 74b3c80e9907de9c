"""Is this machine and its network fit to serve phones and to measure; one file for each thing that is looked at.

Nothing is changed, only looked at. Each check answers a `Finding`; `examine` says which are made when.
"""
