"""One file or folder for each transport; they differ in framing only and never import each other."""
