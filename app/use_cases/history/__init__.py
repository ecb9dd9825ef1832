"""Answers that were recorded elsewhere: check and keep them; they are recorded in the background."""
