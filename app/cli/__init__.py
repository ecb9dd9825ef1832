"""The `suffice` command: serve, migrate, replay, simulate, experiments."""
