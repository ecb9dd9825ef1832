"""Stored responses: the reply to a request that carried an idempotency key."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.kept_reply import KeyedRequest, Reply
from app.store.tables import stored_response


async def claim_key(connection: AsyncConnection, request: KeyedRequest) -> bool:
    """Try to claim the key for this transaction; waits while another transaction that claimed it is under way.

    `store_reply` fills in the claimed row before any other transaction can see it.
    """
    claim = insert(stored_response).values(
        job_id=request.job_id,
        key=request.key,
        digest=request.digest,
        status=0,
        headers={},
        body="",
        created_at=request.now,
    )
    done = await connection.execute(claim.on_conflict_do_nothing().returning(stored_response.c.key))
    return done.first() is not None


async def store_reply(connection: AsyncConnection, request: KeyedRequest, reply: Reply) -> None:
    """Store the reply in the transaction that creates what the request asked for."""
    await connection.execute(
        update(stored_response)
        .where(stored_response.c.job_id == request.job_id, stored_response.c.key == request.key)
        .values(status=reply.status, headers=dict(reply.headers), body=reply.body)
    )


async def load_reply(connection: AsyncConnection, request: KeyedRequest) -> tuple[bytes, Reply] | None:
    """Load the digest of the first request with this key and the reply to it; None if it was deleted since."""
    query = select(stored_response).where(
        stored_response.c.job_id == request.job_id, stored_response.c.key == request.key
    )
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        return None
    return row.digest, Reply(status=row.status, headers=row.headers, body=row.body, replayed=True)


async def delete_old_replies(connection: AsyncConnection, before: datetime) -> None:
    """Delete the replies that were stored before this moment, of all jobs."""
    await connection.execute(delete(stored_response).where(stored_response.c.created_at < before))


async def delete_replies_of(connection: AsyncConnection, job_id: UUID) -> None:
    """Delete all replies of a job."""
    await connection.execute(delete(stored_response).where(stored_response.c.job_id == job_id))
