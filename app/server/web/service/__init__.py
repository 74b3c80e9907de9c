"""Views of the service itself: probes, metrics, pages, assets, API description."""
