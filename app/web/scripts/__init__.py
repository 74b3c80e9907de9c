"""Scripts as they are served: the same program in fewer bytes."""
