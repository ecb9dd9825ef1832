"""The verbs: one file, one story."""
