"""What `locust -f loadtests/locustfile.py` runs: SSE and Socket.IO users of a Siar server.

    locust -f loadtests/locustfile.py --host http://127.0.0.1:8080                        web UI
    ... --headless -u 500 -r 100 -t 1m SseUser                                            one transport
    ... --publish-rate 1 --operator-token TOKEN                                           and notifications to receive
    ... --processes 2, or --master and --worker on several machines                       more than one core
    locust -f loadtests/locustfile.py,loadtests/users/polling.py ...                      and users who poll
    locust -f loadtests/locustfile.py,loadtests/shapes/spike.py ...                       a shape

Its pages show connects, errors, and delays rounded to three significant digits instead of Locust's two, which merge
from workers without loss. For results with gates, lanes and void rules there is `./siar load`.
"""

import sys
from pathlib import Path

# Locust finds this file by its path, and what it imports by the directory it was started in.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from loadtests import plain
from loadtests.users import SocketIoUser, SseUser

__all__ = ["SocketIoUser", "SseUser"]

plain.set_up()
