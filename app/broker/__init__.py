"""Order and history: who comes after whom, and what a client that was away has missed."""
