"""The broker that several servers share, over Redis."""
