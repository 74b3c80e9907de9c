"""The runs on disk, as the server's operator handles them: listed, deleted with undo, taken away as a file."""
