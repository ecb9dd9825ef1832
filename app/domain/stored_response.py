"""Requests that carry an idempotency key, and the responses that are stored for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

NO_JOB = UUID(int=0)  # the job of a request that creates one


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRequest:
    """A request with a key that its sender chose, so that a repetition can be recognised."""

    job_id: UUID
    key: str
    digest: bytes  # of the request: the same key with another digest is a conflict
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """An HTTP response, byte for byte, as it was sent or will be."""

    status: int
    headers: Mapping[str, str]
    body: str
    replayed: bool = False
