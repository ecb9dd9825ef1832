"""Turn answers into labels, and list answers."""
