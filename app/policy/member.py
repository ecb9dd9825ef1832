"""What all policies are: small frozen models whose fields are their configuration and their schema."""

from typing import Any

from pydantic import BaseModel, ConfigDict


def _for_readers_of_the_schema(schema: dict[str, Any]) -> None:
    """A doctest explains a class to those who read its code, not to those who read the API.

    And they must name the kind, although the class itself knows it.
    """
    schema["description"] = schema.get("description", "").split("\n\n>>>")[0]
    schema["required"] = sorted({*schema.get("required", []), "kind"})


class Member(BaseModel):
    """One kind of one family."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=_for_readers_of_the_schema)

    kind: str
