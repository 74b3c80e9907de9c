"""One file or folder per transport. Transports differ in framing only and never import each other."""
