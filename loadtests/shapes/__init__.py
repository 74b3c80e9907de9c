"""Load shapes for Locust by itself: name one beside the locustfile. `./siar load --shape` has its own stages."""
