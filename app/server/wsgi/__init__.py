"""The interface to green-thread libraries and WSGI servers: no package above depends on which of them runs."""
