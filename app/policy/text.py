"""Strings from outside that can be kept and shown."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError


def _keepable(text: str) -> str:
    if "\x00" in text:
        raise PydanticCustomError("nul_character", "Must not contain the character NUL (\\u0000)")
    if not text.strip():
        raise PydanticCustomError("blank", "Must not be blank")
    return text


# For the documentation alone; what is not keepable is refused in words.
_PATTERN = Field(json_schema_extra={"pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$"})

Label = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_keepable), _PATTERN]
Key = Annotated[str, StringConstraints(min_length=1, max_length=256), AfterValidator(_keepable), _PATTERN]
