"""Thin views: they read a request, call the services and word the answer."""
