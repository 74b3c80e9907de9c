"""Load shapes for Locust by itself, named next to the locustfile. `./siar load --shape` has its own stages."""
