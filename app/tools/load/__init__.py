"""Load by Locust: from fifty users to thousands, in the same blocks, store and analysis as every other run."""
