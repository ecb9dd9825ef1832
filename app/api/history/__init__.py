"""Recorded answers over HTTP: NDJSON and CSV."""
