"""Published load levels in ascending order: `locust -f loadtests/locustfile.py,loadtests/shapes/steps.py`."""

from loadtests.shapes.stages import Stages


class Steps(Stages):
    """50 to 3,000 users, spawned at 200 per second; each level lasts about half a minute after its users have started."""

    stages = ((35, 50, 200), (70, 500, 200), (105, 1000, 200), (145, 2000, 200), (185, 3000, 200))
