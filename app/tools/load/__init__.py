"""Load tests with Locust, from fifty to thousands of users, with the plan, store and analysis of every other run."""
