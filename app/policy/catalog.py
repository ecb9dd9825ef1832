"""Every policy that a job can ask for, as its own class describes it."""

import inspect
import re
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel

from app.policy.aggregation import AnyAggregation
from app.policy.allocation import AnyAllocation
from app.policy.requirements import AnyRequirement
from app.policy.worker_choice import AnyWorkerChoice
from app.policy.workers import AnyWorkerModel

_CITATION = re.compile(r"\(([^()]*(?:1[5-9]|20)\d\d[^()]*)\)")


@dataclass(frozen=True)
class Entry:
    """One kind: what it does, by which formula, from which paper, with which parameters."""

    kind: str
    description: str
    formula: str
    citation: str
    parameters: dict[str, Any]  # JSON schema


def catalog() -> dict[str, list[Entry]]:
    """The families, each in the order of its union."""
    families = {
        "requirement": AnyRequirement,
        "allocation": AnyAllocation,
        "worker_model": AnyWorkerModel,
        "worker_choice": AnyWorkerChoice,
        "aggregation": AnyAggregation,
    }
    return {family: [_entry(member) for member in _members(union)] for family, union in families.items()}


def _members(union: Any) -> tuple[type[BaseModel], ...]:  # noqa: ANN401  an annotated union, which has no type of its own
    return get_args(get_args(union)[0])


def _entry(member: type[BaseModel]) -> Entry:
    """Read the docstring: the first paragraph says what it is and whence, indented lines are the formula."""
    text = (inspect.getdoc(member) or "").split(">>>")[0]
    first, *rest = text.split("\n\n")
    cited = _CITATION.search(text)
    formula = [line.strip() for part in rest for line in part.splitlines() if line.startswith("    ")]
    return Entry(
        kind=str(member.model_fields["kind"].default),
        description=" ".join(first.split()),
        formula="\n".join(line for line in formula if line),
        citation=" ".join(cited[1].split()) if cited else "",
        parameters=_schema(member),
    )


def _schema(member: type[BaseModel]) -> dict[str, Any]:
    """The schema of the member itself at the top, also where it refers to itself."""
    schema = member.model_json_schema()
    return schema if "properties" in schema else schema | schema["$defs"][member.__name__]
