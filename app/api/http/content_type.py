"""In which format a body is sent."""

from fastapi import Request

NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")
CSV = "text/csv"
TABLES = frozenset((*NDJSON, CSV))  # a row per line


def content_type(request: Request, otherwise: str = "") -> str:
    """Return the media type of the request's body, without parameters."""
    return request.headers.get("content-type", otherwise).partition(";")[0].strip().lower()
