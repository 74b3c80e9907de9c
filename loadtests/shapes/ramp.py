"""Doubling number of users, for finding a limit: `locust -f loadtests/locustfile.py,loadtests/shapes/ramp.py`."""

from loadtests.shapes.stages import Stages


class Ramp(Stages):
    """50 users, doubled every half minute up to 12,800."""

    stages = tuple((30.0 * (place + 1), 50 * 2**place, 200.0) for place in range(9))
