"""Create, change, read, pause and delete jobs."""
