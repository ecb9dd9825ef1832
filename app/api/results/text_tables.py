"""Results as NDJSON and CSV, written page by page."""

import asyncio
import csv
import io
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from pydantic_core import to_json

from app.use_cases.results.read_results import Results

COLUMNS = ("item", "label", "confidence", "state", "reason_code", "reason")


def vote_columns(labels: Sequence[str]) -> list[str]:
    return [f"votes.{label}" for label in labels]


def objects(labels: Sequence[str], results: Results) -> Iterator[dict[str, Any]]:
    """Build results as on the JSON page, but as dictionaries: a million models would take longer than the database."""
    for item, label, confidence, state, votes, code, message in _rows(results):
        yield {
            "item": item,
            "label": label,
            "confidence": confidence,
            "state": state,
            "votes": dict(zip(labels, votes, strict=True)),
            "reason": {"code": code, "message": message},
        }


async def ndjson(labels: Sequence[str], pages: AsyncIterator[Results]) -> AsyncIterator[bytes]:
    async for results in pages:
        yield await asyncio.to_thread(_lines, labels, results)


async def comma_separated(labels: Sequence[str], pages: AsyncIterator[Results]) -> AsyncIterator[bytes]:
    """Write CSV as in RFC 4180. Values are not changed, even if a spreadsheet would read them as formulas."""
    yield _csv([(*COLUMNS, *vote_columns(labels))])
    async for results in pages:
        yield await asyncio.to_thread(_csv_of, results)


def _rows(results: Results) -> Iterator[tuple[Any, ...]]:
    return zip(
        results.items,
        results.labels,
        results.confidences,
        results.states,
        results.votes,
        results.codes,
        results.messages,
        strict=True,
    )


def _lines(labels: Sequence[str], results: Results) -> bytes:
    return b"".join([b"%b\n" % to_json(one) for one in objects(labels, results)])


def _csv_of(results: Results) -> bytes:
    return _csv(
        [
            (item, label, confidence, state, code, message, *votes)
            for item, label, confidence, state, votes, code, message in _rows(results)
        ]
    )


def _csv(rows: Sequence[Sequence[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
