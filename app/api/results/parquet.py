"""Results as a Parquet file. It is written to disk first: the index comes last, and the rows may exceed memory."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from typing import IO

import numpy as np
from arro3.core import Array, DataType, Field, RecordBatch, RecordBatchReader, Schema
from arro3.io import read_ipc_stream, write_ipc_stream, write_parquet

from app.api.results.text_tables import content_cells, content_columns, vote_columns
from app.policy.job_policy import JobPolicy
from app.use_cases.results.read_results import Results

ROWS_IN_A_GROUP = 65_536
_CHUNK = 1 << 18  # bytes
_TEXT, _NUMBER, _COUNT = DataType.utf8(), DataType.float64(), DataType.int64()


async def parquet(policy: JobPolicy, pages: AsyncIterator[Results]) -> AsyncIterator[bytes]:
    # Files without a name are deleted when they are closed, also after a crash.
    with tempfile.TemporaryFile() as spool, tempfile.TemporaryFile() as file:
        # The writer runs in a thread and pulls its rows. The rows go to disk first, so that no thread waits for a page
        # from the database: otherwise many exports at once would wait for each other's threads.
        async for results in pages:
            await asyncio.to_thread(_spool, spool, policy, results)
        await asyncio.to_thread(_write, spool, file, schema_of(policy))
        while chunk := await asyncio.to_thread(file.read, _CHUNK):
            yield chunk


def schema_of(policy: JobPolicy) -> Schema:
    return Schema(
        [
            Field("item", _TEXT, nullable=False),
            *(Field(name, _content_type(policy), nullable=True) for name in content_columns(policy)),
            Field("confidence", _NUMBER, nullable=False),
            Field("state", _TEXT, nullable=False),
            Field("reason_code", _TEXT, nullable=False),
            Field("reason", _TEXT, nullable=False),
            *(Field(name, _COUNT, nullable=False) for name in vote_columns(policy)),
        ]
    )


def _content_type(policy: JobPolicy) -> DataType:
    return _NUMBER if policy.answer.field == "value" else _TEXT


def _spool(spool: IO[bytes], policy: JobPolicy, results: Results) -> None:
    votes = np.array(results.votes, dtype=np.int64).reshape(len(results.items), len(policy.labels))
    cells = [content_cells(policy, content) for content in results.contents]
    contents = list(zip(*cells, strict=True)) or [()] * len(content_columns(policy))
    columns = [
        Array(results.items, type=_TEXT),
        *(Array(list(column), type=_content_type(policy)) for column in contents),
        Array(results.confidences, type=_NUMBER),
        Array(results.states, type=_TEXT),
        Array(results.codes, type=_TEXT),
        Array(results.messages, type=_TEXT),
        *(Array.from_numpy(np.ascontiguousarray(column)) for column in votes.T),
    ]
    write_ipc_stream(RecordBatch.from_arrays(columns, schema=schema_of(policy)), spool)


def _write(spool: IO[bytes], file: IO[bytes], schema: Schema) -> None:
    batches = RecordBatchReader.from_batches(schema, _batches(spool))
    write_parquet(batches, file, max_row_group_size=ROWS_IN_A_GROUP, compression="zstd(1)")
    file.seek(0)


def _batches(spool: IO[bytes]) -> Iterator[RecordBatch]:
    end = spool.tell()
    spool.seek(0)
    while spool.tell() < end:
        yield from read_ipc_stream(spool)
