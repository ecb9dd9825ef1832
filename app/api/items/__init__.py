"""Items over HTTP: JSON, NDJSON and CSV."""
