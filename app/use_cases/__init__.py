"""Use cases: what the service does, one story per module, on top of the store and the policies."""
