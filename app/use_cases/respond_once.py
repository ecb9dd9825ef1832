"""Carry out a request with an idempotency key only once, even if it is sent several times."""

from collections.abc import Awaitable, Callable

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.stored_response import KeyedRequest, StoredResponse
from app.errors import FieldError, IdempotencyConflict
from app.store.stored_responses import claim_key, load_response, store_response


async def respond_once(
    connection: AsyncConnection, request: KeyedRequest | None, carry_out: Callable[[], Awaitable[StoredResponse]]
) -> StoredResponse:
    """Carry out the request and store its response, or return the stored response, inside the caller's transaction.

    If two requests with one key arrive at the same time, the second waits here for the first and gets its response.
    If the first was refused, nothing is stored, and the second is carried out. Call this before you lock the job, so
    that a repetition does not wait for other writers of the job.
    """
    if request is None:
        return await carry_out()
    while not await claim_key(connection, request):
        stored = await load_response(connection, request)
        if stored is not None:
            return _repeated(request, *stored)
        # The response was deleted between the two statements, so the key is free again.
    response = await carry_out()
    await store_response(connection, request, response)
    return response


def _repeated(request: KeyedRequest, digest: bytes, response: StoredResponse) -> StoredResponse:
    if digest != request.digest:
        raise IdempotencyConflict(
            f"The key {request.key!r} was already used for another request, which was carried out. "
            "Send this request with a new key.",
            errors=(FieldError("Idempotency-Key", "Must be a new key for a new request"),),
        )
    return response
