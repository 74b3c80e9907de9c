"""The seam to the green-thread library and to the WSGI servers: nothing above it knows which one runs."""
