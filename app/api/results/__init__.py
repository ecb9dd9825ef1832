"""Results and recorded answers over HTTP: JSON, NDJSON, CSV and Parquet."""
