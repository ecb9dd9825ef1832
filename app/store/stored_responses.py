"""Stored responses: the response to a request that carried an idempotency key."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.stored_response import KeyedRequest, StoredResponse
from app.store.tables import stored_response


async def claim_key(connection: AsyncConnection, request: KeyedRequest) -> bool:
    """Try to claim the key for this transaction; waits while another transaction that claimed it is under way.

    `store_response` fills in the claimed row before any other transaction can see it.
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


async def store_response(connection: AsyncConnection, request: KeyedRequest, response: StoredResponse) -> None:
    """Store the response in the transaction that creates what the request asked for."""
    await connection.execute(
        update(stored_response)
        .where(stored_response.c.job_id == request.job_id, stored_response.c.key == request.key)
        .values(status=response.status, headers=dict(response.headers), body=response.body)
    )


async def load_response(connection: AsyncConnection, request: KeyedRequest) -> tuple[bytes, StoredResponse] | None:
    """Load the digest of the first request with this key and the response to it; None if it was deleted since."""
    query = select(stored_response).where(
        stored_response.c.job_id == request.job_id, stored_response.c.key == request.key
    )
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        return None
    return row.digest, StoredResponse(status=row.status, headers=row.headers, body=row.body, replayed=True)


async def delete_old_responses(connection: AsyncConnection, before: datetime) -> None:
    """Delete the responses that were stored before this moment, of all jobs."""
    await connection.execute(delete(stored_response).where(stored_response.c.created_at < before))


async def delete_responses_of(connection: AsyncConnection, job_id: UUID) -> None:
    """Delete all responses of a job."""
    await connection.execute(delete(stored_response).where(stored_response.c.job_id == job_id))
