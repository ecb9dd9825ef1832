"""Every policy that a job can ask for, as its own class describes it."""

import inspect
import re
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel

from app.policy.aggregation import AnyAggregation
from app.policy.allocation import AnyAllocation
from app.policy.answers import AnyAnswer
from app.policy.core.policy import plain_description
from app.policy.requirements import AnyRequirement
from app.policy.worker_choice import AnyWorkerChoice
from app.policy.worker_models import AnyWorkerModel

_CITATION = re.compile(r"\(([^()]*(?:1[5-9]|20)\d\d[^()]*)\)")


@dataclass(frozen=True)
class CatalogEntry:
    """One kind: what it does, by which formula, from which paper, with which parameters."""

    kind: str
    summary: str  # one sentence, without the citation
    description: str  # the summary with the citation
    details: str  # further paragraphs, separated by empty lines; may be empty
    formula: str
    citation: str
    parameters: dict[str, Any]  # JSON schema, with the default and the description of each


def catalog() -> dict[str, list[CatalogEntry]]:
    """The families, each in the order of its union."""
    families = {
        "answer": AnyAnswer,
        "requirement": AnyRequirement,
        "allocation": AnyAllocation,
        "worker_model": AnyWorkerModel,
        "worker_choice": AnyWorkerChoice,
        "aggregation": AnyAggregation,
    }
    return {family: [_entry(member) for member in _members(union)] for family, union in families.items()}


def _members(union: Any) -> tuple[type[BaseModel], ...]:  # noqa: ANN401  an annotated union has no type
    return get_args(get_args(union)[0])


def _entry(member: type[BaseModel]) -> CatalogEntry:
    """Read the docstring: its first paragraph is the description, indented lines are the formula."""
    first, *rest = plain_description(inspect.getdoc(member) or "").split("\n\n")
    description = " ".join(first.split())
    cited = _CITATION.search("\n\n".join([first, *rest]))
    formula = [line.strip() for part in rest for line in part.splitlines() if line.startswith("    ")]
    prose = [" ".join(line for line in part.splitlines() if not line.startswith("    ")) for part in rest]
    return CatalogEntry(
        kind=str(member.model_fields["kind"].default),
        summary=re.sub(r"\s+([.,])", r"\1", _CITATION.sub("", description)),
        description=description,
        details="\n\n".join(part for part in prose if part),
        formula="\n".join(line for line in formula if line),
        citation=" ".join(cited[1].split()) if cited else "",
        parameters=_schema(member),
    )


def _schema(member: type[BaseModel]) -> dict[str, Any]:
    """The schema of the member itself, also where it refers to itself."""
    schema = member.model_json_schema()
    return schema if "properties" in schema else schema | schema["$defs"][member.__name__]
