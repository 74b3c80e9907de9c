"""Load by Locust: thousands of users in one gevent process, which never is the server's.

`./siar load` starts `generator.py`; `locust -f loadtests/locustfile.py` works plainly. Locust orchestrates; what
measures is ours: raw sockets, the repository's decoders, the kernel's receive stamps. Nothing of `app` but its core is
imported here, so that a worker on another machine needs little.
"""
