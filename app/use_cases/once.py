"""Carry a request out once, however often it is sent."""

from collections.abc import Awaitable, Callable

from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import FieldError, IdempotencyConflict
from app.store.responses import KeyedRequest, Reply, claim_key, keep_reply, kept_reply


async def once(connection: AsyncConnection, request: KeyedRequest | None, do: Callable[[], Awaitable[Reply]]) -> Reply:
    """Do it and keep the reply, or give the reply that was kept. All inside the caller's transaction.

    Of two requests with one key the second waits here for the first: it gets the first one's reply, or, where the
    first was refused and so left nothing behind, does the work itself. Call this before the job is locked, so that
    a request that is only a repetition waits for nobody.
    """
    if request is None:
        return await do()
    while not await claim_key(connection, request):
        kept = await kept_reply(connection, request)
        if kept is not None:
            return _again(request, *kept)
        # It was forgotten between the two statements, so the key is free again.
    reply = await do()
    await keep_reply(connection, request, reply)
    return reply


def _again(request: KeyedRequest, digest: bytes, reply: Reply) -> Reply:
    if digest != request.digest:
        raise IdempotencyConflict(
            f"The key {request.key!r} came with another request before; what that one created stands",
            errors=(FieldError("Idempotency-Key", "Must be a new key for a new request"),),
        )
    return reply
