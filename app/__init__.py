"""Suffice: which item to label next, whom to ask, and when to stop."""
