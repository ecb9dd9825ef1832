"""Results as NDJSON and CSV, written page by page."""

import asyncio
import csv
import io
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from pydantic_core import to_json

from app.policy.job_policy import JobPolicy
from app.use_cases.results.read_results import Results

_AFTER = ("confidence", "state", "reason_code", "reason")


def content_columns(policy: JobPolicy) -> list[str]:
    """The columns with the result itself."""
    return ["value", "low", "high"] if policy.answer.field == "value" else [policy.answer.field]


def content_cells(policy: JobPolicy, content: Any) -> Sequence[Any]:  # noqa: ANN401  as the job's answers are
    """The cells of these columns; None: there is no result."""
    if policy.answer.field == "value":
        return (None, None, None) if content is None else content
    return [content if content is None or policy.answer.is_one_label else policy.answer.text(content)]


def vote_columns(policy: JobPolicy) -> list[str]:
    return [f"votes.{label}" for label in policy.labels]


def objects(policy: JobPolicy, results: Results) -> Iterator[dict[str, Any]]:
    """Build results as on the JSON page, but as dictionaries: a million models would take longer than the database."""
    labels = policy.labels
    for item, content, confidence, state, votes, code, message in _rows(results):
        yield {
            "item": item,
            **_content_fields(policy, content),
            "confidence": confidence,
            "state": state,
            "votes": dict(zip(labels, votes, strict=True)),
            "reason": {"code": code, "message": message},
        }


def _content_fields(policy: JobPolicy, content: Any) -> dict[str, Any]:  # noqa: ANN401  as the job's answers are
    if policy.answer.is_one_label:
        return {"label": content}
    if policy.answer.field == "labels":
        return {"label": None, "labels": content}
    value, low, high = content or (None, None, None)
    return {"label": None, "value": value, "interval": None if content is None else (low, high)}


async def ndjson(policy: JobPolicy, pages: AsyncIterator[Results]) -> AsyncIterator[bytes]:
    async for results in pages:
        yield await asyncio.to_thread(_lines, policy, results)


async def comma_separated(policy: JobPolicy, pages: AsyncIterator[Results]) -> AsyncIterator[bytes]:
    """Write CSV as in RFC 4180. Values are not changed, even if a spreadsheet would read them as formulas."""
    yield _csv([("item", *content_columns(policy), *_AFTER, *vote_columns(policy))])
    async for results in pages:
        yield await asyncio.to_thread(_csv_of, policy, results)


def _rows(results: Results) -> Iterator[tuple[Any, ...]]:
    return zip(
        results.items,
        results.contents,
        results.confidences,
        results.states,
        results.votes,
        results.codes,
        results.messages,
        strict=True,
    )


def _lines(policy: JobPolicy, results: Results) -> bytes:
    return b"".join([b"%b\n" % to_json(one) for one in objects(policy, results)])


def _csv_of(policy: JobPolicy, results: Results) -> bytes:
    return _csv(
        [
            (item, *content_cells(policy, content), confidence, state, code, message, *votes)
            for item, content, confidence, state, votes, code, message in _rows(results)
        ]
    )


def _csv(rows: Sequence[Sequence[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
