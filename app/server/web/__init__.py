"""Thin views: they parse a request, call the services and build the response."""
