"""Load tests with Locust: thousands of users in one gevent process, which is never the server's process.

`./siar load` starts `generator.py`; `locust -f loadtests/locustfile.py` also works by itself. Locust only orchestrates
the users. The measurement is our code: raw sockets, the decoders of `app/core`, and the kernel's receive stamps. Only
`app/core` is imported here, so that a worker on another machine needs few dependencies.
"""
