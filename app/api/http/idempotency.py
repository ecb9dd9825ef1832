"""The header Idempotency-Key, which makes it safe to send a request again."""

import hashlib
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Header, Response
from pydantic import AfterValidator, WithJsonSchema
from pydantic_core import PydanticCustomError
from starlette.requests import Request

from app.domain.stored_response import KeyedRequest, StoredResponse

_LONGEST = 255


def _printable(key: str) -> str:
    if not (1 <= len(key) <= _LONGEST and key.isascii() and key.isprintable()):
        raise PydanticCustomError(
            "idempotency_key", "Must be 1 to {most} printable ASCII characters", {"most": _LONGEST}
        )
    return key


_SCHEMA = {"type": "string", "minLength": 1, "maxLength": _LONGEST, "pattern": "^[ -~]*$"}

IdempotencyKey = Annotated[
    Annotated[str, AfterValidator(_printable), WithJsonSchema(_SCHEMA)] | None,
    Header(
        alias="Idempotency-Key",
        description="Your own name for this request, 1 to 255 printable ASCII characters. If you send it again "
        "with the same key and body, you get the first response again, with the header "
        "`Idempotency-Replayed: true`. Keys are kept for a day; a refused request does not use up its key",
    ),
]
REPLAYED = {
    "Idempotency-Replayed": {
        "description": "`true` if this is the response to an earlier request with the same key",
        "schema": {"type": "string", "const": "true"},
    }
}


class RequestDigest:
    """A hash of a request's path, content type and body, computed as the body arrives."""

    def __init__(self, request: Request) -> None:
        content_type = request.headers.get("content-type", "")
        self._hash = hashlib.sha256(f"{request.url.path}\n{content_type}\n".encode())

    def update(self, chunk: bytes) -> None:
        self._hash.update(chunk)

    def keyed(self, job_id: UUID, key: str, now: datetime) -> KeyedRequest:
        return KeyedRequest(job_id=job_id, key=key, digest=self._hash.digest(), now=now)


async def keyed_request(request: Request, key: str | None, job_id: UUID, now: datetime) -> KeyedRequest | None:
    """Build the keyed request of a body that was read as a whole; None without a key."""
    if key is None:
        return None
    digest = RequestDigest(request)
    digest.update(await request.body())
    return digest.keyed(job_id, key, now)


def response_of(response: StoredResponse) -> Response:
    replayed = {"Idempotency-Replayed": "true"} if response.replayed else {}
    return Response(response.body, response.status, {**response.headers, **replayed}, "application/json")
