"""Amounts, reasons, problems and manners that all bodies share."""

from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema


def _plain(amount: Decimal) -> Decimal:
    """Zero is zero, whatever its exponent; no other amount has room for a long one."""
    return amount or Decimal(0)


def _amount(**least: int) -> WithJsonSchema:
    """Decimal's own schema tells nothing of the digits."""
    text = {"type": "string", "pattern": r"^[0-9]{1,12}(\.[0-9]{1,6})?$"}
    return WithJsonSchema({"anyOf": [text, {"type": "number", **least, "exclusiveMaximum": 10**12}]}, "validation")


AmountIn = Annotated[
    Decimal,
    Field(ge=0, max_digits=18, decimal_places=6, allow_inf_nan=False),
    AfterValidator(_plain),
    _amount(minimum=0),
]
CostIn = Annotated[
    Decimal, Field(gt=0, max_digits=18, decimal_places=6, allow_inf_nan=False), _amount(exclusiveMinimum=0)
]
AmountOut = Annotated[Decimal, PlainSerializer(lambda amount: f"{amount:f}", return_type=str)]


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ReasonOut(BaseModel):
    code: Annotated[str, Field(description="For machines")]
    message: Annotated[str, Field(description="For people")]


class FieldProblem(BaseModel):
    pointer: Annotated[str, Field(description="JSON pointer into the body, or `?name` for a query parameter")]
    message: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: Annotated[str, Field(description="Stable; for machines")]
    errors: list[FieldProblem] = []
    request_id: Annotated[str | None, Field(description="The same as in the X-Request-ID header and the log")] = None


def money(amount: float | Decimal) -> Decimal:
    """What is expected is arithmetic and no account: to six decimals, without zeros at the end.

    >>> [f"{money(amount):f}" for amount in (2.5, 1 / 3, 1e-9, -0.0, 1200.0)]
    ['2.5', '0.333333', '0', '0', '1200']
    """
    return Decimal(f"{amount:.6f}").normalize() + 0
