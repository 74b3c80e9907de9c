"""One file or folder per transport, behind the interface of `base.py`. Transports never import each other."""
