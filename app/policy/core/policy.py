"""What all policies have in common: small frozen models whose fields are their configuration and their API schema."""

import re
from collections.abc import Callable
from enum import Flag, auto
from typing import Any, Generic, TypeVar, overload

from pydantic import BaseModel, ConfigDict

Value = TypeVar("Value")


class lazy(Generic[Value]):  # noqa: N801  it is used like `property`
    """Compute a property on first access and keep the value in the object.

    `functools.cached_property` of Python 3.11 holds one lock per property across all objects: while one thread computes
    the property of one object, every other thread waits for it. Here no thread waits; two threads that need the same
    property of the same object at the same moment may both compute it, so the function must be pure.

    It works on frozen dataclasses and frozen pydantic models (with `ignored_types=(lazy,)` in their configuration),
    because it writes to the object's `__dict__` directly; not on classes with `__slots__`. Python then
    finds the value in the `__dict__` and does not come here again.

    >>> class Circle:
    ...     def __init__(self, radius):
    ...         self.radius = radius
    ...
    ...     @lazy
    ...     def area(self):
    ...         print("computed")
    ...         return 3 * self.radius**2
    >>> circle = Circle(2)
    >>> circle.area, circle.area
    computed
    (12, 12)
    """

    def __init__(self, compute: Callable[..., Value]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__
        self.__module__ = compute.__module__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "lazy[Value]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> "lazy[Value] | Value":
        if instance is None:
            return self
        value = self._compute(instance)
        instance.__dict__[self._name] = value
        return value


class Uses(Flag):
    """What a policy's numbers depend on besides an item's votes, its prior and what the worker model keeps of it.

    It exists for speed alone. Items that differ only in what no policy of a job uses are computed once, and a change of
    what no policy uses recomputes nothing. A policy that does not say what it uses counts as using everything.
    """

    NOTHING = 0
    COST = auto()  # the item's cost
    OPEN_ASSIGNMENTS = auto()  # how many answers to the item are under way
    NUMBER = auto()  # the item's number, which also fixes its random draws
    WORKER = auto()  # the skill of the worker who would answer
    BUDGET = auto()  # the job's budget, and the costs of all its items
    EVERYTHING = COST | OPEN_ASSIGNMENTS | NUMBER | WORKER | BUDGET

    @property
    def only_votes(self) -> bool:
        """Whether items with equal votes get equal numbers."""
        return not self & ~Uses.WORKER


def plain_description(text: str) -> str:
    r"""A docstring without its doctests: they explain a class to readers of the code, not to readers of the API.

    A sentence that only introduces a doctest goes with it.

    >>> plain_description('Count votes. With three:\n\n>>> 1 + 2\n3\n\nTies stay open.')
    'Count votes.\n\nTies stay open.'
    """
    paragraphs = text.strip().split("\n\n")
    kept = []
    for paragraph, following in zip(paragraphs, [*paragraphs[1:], ""], strict=True):
        if paragraph.lstrip().startswith(">>>"):
            continue
        introduces = paragraph.endswith(":") and following.lstrip().startswith(">>>")
        kept.append(_without_last_sentence(paragraph) if introduces else paragraph)
    return "\n\n".join(paragraph for paragraph in kept if paragraph)


def _without_last_sentence(paragraph: str) -> str:
    """Without what follows the last full stop at the end of a sentence."""
    ends = [match.end() for match in re.finditer(r"[a-z0-9)]\.(?=\s+[A-Z])", paragraph)]
    return paragraph[: ends[-1]] if ends else ""


def without_doctests(schema: dict[str, Any]) -> None:
    """Take the doctests out of a model's schema (`json_schema_extra`)."""
    if "description" in schema:
        schema["description"] = plain_description(schema["description"])


def _named_by_its_kind(schema: dict[str, Any]) -> None:
    """Requests must name the kind of a policy, although the class itself knows it."""
    without_doctests(schema)
    schema["required"] = sorted({*schema.get("required", []), "kind"})


class Policy(BaseModel):
    """One kind of one family."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(lazy,), json_schema_extra=_named_by_its_kind)

    kind: str
