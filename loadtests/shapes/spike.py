"""Stress profile of the VPS study: `locust -f loadtests/locustfile.py,loadtests/shapes/spike.py`."""

from loadtests.shapes.stages import Stages


class Spike(Stages):
    """100, 300 and 500 users and down again, in abrupt steps of half a minute each."""

    stages = ((30, 100, 1000), (60, 300, 1000), (90, 500, 1000), (120, 300, 1000), (150, 100, 1000))
