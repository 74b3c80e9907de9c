"""Views of the operator: pages and sessions."""
