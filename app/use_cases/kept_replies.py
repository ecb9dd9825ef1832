"""Carry out a request with an idempotency key only once, even if it is sent several times."""

from collections.abc import Awaitable, Callable

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.kept_reply import KeyedRequest, Reply
from app.errors import FieldError, IdempotencyConflict
from app.store.stored_responses import claim_key, load_reply, store_reply


async def reply_once(
    connection: AsyncConnection, request: KeyedRequest | None, carry_out: Callable[[], Awaitable[Reply]]
) -> Reply:
    """Carry out the request and store its reply, or return the stored reply, inside the caller's transaction.

    If two requests with one key arrive at the same time, the second waits here for the first and gets the same reply.
    If the first was refused, nothing is stored, and the second is carried out. Call this before you lock the job, so
    that a repetition does not wait for other writers of the job.
    """
    if request is None:
        return await carry_out()
    while not await claim_key(connection, request):
        kept = await load_reply(connection, request)
        if kept is not None:
            return _repeated(request, *kept)
        # The reply was deleted between the two statements, so the key is free again.
    reply = await carry_out()
    await store_reply(connection, request, reply)
    return reply


def _repeated(request: KeyedRequest, digest: bytes, reply: Reply) -> Reply:
    if digest != request.digest:
        raise IdempotencyConflict(
            f"The key {request.key!r} was already used for another request, which was carried out. "
            "Send this request with a new key.",
            errors=(FieldError("Idempotency-Key", "Must be a new key for a new request"),),
        )
    return reply
