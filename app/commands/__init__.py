"""Commands of `suffice` beside the service itself, one per file."""
