"""Amounts, reasons, problems and settings that the bodies of all operations share."""

from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic_core import CoreSchema

from app.domain.money import plain_amount

_CENTS = 2  # decimals of an expected amount


def _plain(amount: Decimal) -> Decimal:
    """Turn a zero with a huge exponent, such as 0E-999, into plain 0; other such amounts have too many digits."""
    return amount or Decimal(0)


def _amount_schema(**least: int) -> WithJsonSchema:
    """Build the schema of an amount in a request; pydantic's own schema does not limit the digits."""
    text = {"type": "string", "pattern": r"^[0-9]{1,12}(\.[0-9]{1,6})?$"}
    return WithJsonSchema({"anyOf": [text, {"type": "number", **least, "exclusiveMaximum": 10**12}]})


@dataclass(frozen=True)
class FirstErrorOnly:
    """Stop validating a list at its first wrong entry, like pydantic's FailFast, but also inside a union."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401
        return cast("CoreSchema", {**handler(source), "fail_fast": True})


AmountIn = Annotated[
    Decimal,
    Field(ge=0, max_digits=18, decimal_places=6, allow_inf_nan=False),
    AfterValidator(_plain),
    _amount_schema(minimum=0),
]
CostIn = Annotated[
    Decimal, Field(gt=0, max_digits=18, decimal_places=6, allow_inf_nan=False), _amount_schema(exclusiveMinimum=0)
]
AmountOut = Annotated[
    Decimal,
    PlainSerializer(plain_amount, return_type=str),
    WithJsonSchema({"type": "string"}),
]
# The bounds are only in the schema, not validated: rounding errors such as 1.0000000000000002 are rounded away.
SHARE_BOUNDS = Field(json_schema_extra={"minimum": 0, "maximum": 1})
Share = Annotated[float, PlainSerializer(lambda share: round(share, 4), return_type=float), SHARE_BOUNDS]
# A belief about one item: 0.999 and 0.9999 are different.
rounded_share = partial(round, ndigits=6)  # as probabilities are shown
Probability = Annotated[float, PlainSerializer(rounded_share, return_type=float), SHARE_BOUNDS]
# As exact as six digits: prices may be far below 1.
SixDigits = Annotated[float, PlainSerializer(lambda number: float(f"{number:.6g}"), return_type=float)]
Number = Annotated[float, PlainSerializer(lambda number: round(number, 4), return_type=float)]
AnyJson = Annotated[Any, WithJsonSchema({})]


class RequestBody(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ReasonOut(BaseModel):
    """A reason: a code for programs and a sentence for people."""

    code: Annotated[str, Field(description="A stable code, for programs")]
    message: Annotated[str, Field(description="A sentence, for people")]


class FieldProblem(BaseModel):
    """What is wrong with one field of a request."""

    pointer: Annotated[
        str,
        Field(description="A JSON pointer into the body, `?name` for a query parameter, or the name of a header"),
    ]
    message: Annotated[str, Field(description="What is valid here")]


class Problem(BaseModel):
    """What went wrong, and what to do about it (RFC 9457)."""

    type: Annotated[str, Field(description="`urn:suffice:problem:` and the code")]
    title: Annotated[str, Field(description="What this code means in general")]
    status: Annotated[int, Field(description="The HTTP status")]
    detail: Annotated[str, Field(description="What happened in this request")]
    code: Annotated[str, Field(description="A stable code, for programs")]
    errors: Annotated[list[FieldProblem], Field(description="The fields that are wrong; at most 20")] = []
    request_id: Annotated[
        str | None, Field(description="The same as in the `X-Request-ID` header and in the service's log")
    ] = None


def money(amount: float | Decimal, decimals: int = 6) -> Decimal:
    """Round an expected amount, and remove zeros at the end.

    >>> [f"{money(amount):f}" for amount in (2.5, 1 / 3, 1e-9, -0.0, 1200.0)]
    ['2.5', '0.333333', '0', '0', '1200']
    >>> f"{money(306.66044, 2):f}"
    '306.66'
    """
    return Decimal(f"{amount:.{decimals}f}").normalize() + 0


def rounded_money(amount: float | Decimal) -> Decimal:
    """Round an expected amount as people write it: to cents, or to three digits if it is less than one.

    >>> [f"{rounded_money(amount):f}" for amount in (306.66044, 18.4, 1200.0, 0.29998, 0.001254, -0.0)]
    ['306.66', '18.4', '1200', '0.3', '0.00125', '0']
    """
    if -1 < amount < 1:
        return money(float(f"{amount:.3g}"))
    return money(amount, _CENTS)
