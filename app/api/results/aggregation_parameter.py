"""The query parameter that names an aggregation: its kind, or an object with its parameters, as a job has it."""

import json
from dataclasses import replace
from typing import Annotated

from fastapi import Query
from pydantic import TypeAdapter, ValidationError

from app.api.http.invalid_fields import body_error, without_consequences
from app.errors import InvalidInput
from app.policy.aggregation import AnyAggregation

_AGGREGATION: TypeAdapter[AnyAggregation] = TypeAdapter(AnyAggregation)
_NAME = "?aggregation"
_LONGEST = 1000  # characters, several times what all parameters of a kind take

AggregationParameter = Annotated[
    str | None,
    Query(
        max_length=_LONGEST,
        description="Use this aggregation instead of the job's own: a kind, such as `glad`, or a JSON object with its "
        'parameters, as in a job: `{"kind": "glad", "expected_log_ease": 2}`. `model` is the job\'s worker model',
        openapi_examples={
            "kind": {"summary": "A kind with its default parameters", "value": "dawid-skene"},
            "parameters": {"summary": "With parameters", "value": '{"kind": "glad", "expected_log_ease": 2}'},
        },
    ),
]


def aggregation_of(text: str) -> AnyAggregation:
    """Read the parameter; raises InvalidInput, which names the wrong field and what would be right.

    >>> aggregation_of("dawid-skene").smoothing, aggregation_of('{"kind": "dawid-skene", "smoothing": 1}').smoothing
    (0.01, 1.0)
    """
    given = _parsed(text) if text.lstrip().startswith("{") else {"kind": text}
    try:
        return _AGGREGATION.validate_python(given)
    except ValidationError as error:
        found = [body_error({**one, "loc": ("query", *one["loc"])}, given, AnyAggregation) for one in error.errors()]
        named = [replace(field, pointer=_NAME + field.pointer.removeprefix("#")) for field in found]
        raise InvalidInput.of(without_consequences(named)) from None


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        message = 'Must be a kind, such as glad, or a JSON object, such as {"kind": "glad", "expected_log_ease": 2}'
        raise InvalidInput.at(_NAME, message) from None
