"""Locust file with SSE and Socket.IO users of a Siar server: `locust -f loadtests/locustfile.py`.

    locust -f loadtests/locustfile.py --host http://127.0.0.1:8080                        web UI
    ... --headless -u 500 -r 100 -t 1m SseUser                                            one transport
    ... --publish-rate 1 --operator-token TOKEN                                           with notifications to receive
    ... --processes 2, or --master and --worker on several machines                       more than one core
    locust -f loadtests/locustfile.py,loadtests/users/polling.py ...                      with long-polling users
    locust -f loadtests/locustfile.py,loadtests/shapes/spike.py ...                       with a load shape

Locust's pages show connects, errors, and delays. Delays are rounded to three significant digits instead of Locust's
two, and merge from workers without loss. Results with gates, separate delay components and rules for invalid trials
need `./siar load`.
"""

import sys
from pathlib import Path

# Locust resolves imports against its working directory, so the repository's root must be added.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from loadtests import plain
from loadtests.users import SocketIoUser, SseUser

__all__ = ["SocketIoUser", "SseUser"]

plain.set_up()
