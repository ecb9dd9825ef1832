"""Responses that are kept, so that a request that is sent twice is carried out once."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.tables import stored_response

NO_JOB = UUID(int=0)  # for requests that belong to no job yet


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRequest:
    """A request that its sender gave a name, so that it can be told when it comes again."""

    job_id: UUID
    key: str
    digest: bytes  # of what was sent: the same key with another digest is a mistake
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a sender is answered, to the letter."""

    status: int
    headers: Mapping[str, str]
    body: str
    replayed: bool = False


async def claim_key(connection: AsyncConnection, request: KeyedRequest) -> bool:
    """Is this transaction the one to carry the request out? Waits for another that has claimed the key and is not done.

    What is claimed is filled in by `keep_reply` before anybody else can see it.
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


async def keep_reply(connection: AsyncConnection, request: KeyedRequest, reply: Reply) -> None:
    """To be committed with what the request has created."""
    await connection.execute(
        update(stored_response)
        .where(stored_response.c.job_id == request.job_id, stored_response.c.key == request.key)
        .values(status=reply.status, headers=dict(reply.headers), body=reply.body)
    )


async def kept_reply(connection: AsyncConnection, request: KeyedRequest) -> tuple[bytes, Reply] | None:
    """What was answered under this key, and the digest of what was sent; None once it is forgotten."""
    query = select(stored_response).where(
        stored_response.c.job_id == request.job_id, stored_response.c.key == request.key
    )
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        return None
    return row.digest, Reply(status=row.status, headers=row.headers, body=row.body, replayed=True)


async def forget_old_responses(connection: AsyncConnection, before: datetime) -> None:
    await connection.execute(delete(stored_response).where(stored_response.c.created_at < before))


async def forget_responses_of(connection: AsyncConnection, job_id: UUID) -> None:
    await connection.execute(delete(stored_response).where(stored_response.c.job_id == job_id))
