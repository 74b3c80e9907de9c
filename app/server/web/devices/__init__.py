"""Views for devices: registration, assignment, posted deliveries, self-test."""
