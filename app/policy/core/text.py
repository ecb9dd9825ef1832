"""Strings from requests that can be stored and shown."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError


def _keepable(text: str) -> str:
    if "\x00" in text:
        raise PydanticCustomError("nul_character", "Must not contain the character NUL (\\u0000)")
    if not text.strip():
        raise PydanticCustomError("blank", "Must not be blank")
    return text


# This pattern only documents the rule in the schema; the validator enforces it, with a message.
_PATTERN = Field(json_schema_extra={"pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$"})
# A key is part of addresses and logs, where a control character is lost or misread.
_ONE_LINE = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"

Label = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_keepable), _PATTERN]
Key = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=_ONE_LINE)]
