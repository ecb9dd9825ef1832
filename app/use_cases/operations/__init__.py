"""Background work on jobs: the runner and its handlers."""
