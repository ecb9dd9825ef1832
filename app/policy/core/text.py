"""Strings from requests that can be stored and shown."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _keepable(text: str) -> str:
    if "\x00" in text:
        raise PydanticCustomError("nul_character", "Must not contain the character NUL (\\u0000)")
    if not text.strip():
        raise PydanticCustomError("blank", "Must not be blank")
    return text


def _one_line(text: str) -> str:
    """A key is part of addresses and logs, where a control character is lost or misread."""
    if _CONTROL.search(text):
        raise PydanticCustomError("control_character", "Must not contain line breaks or other control characters")
    return text


# For the documentation alone; the validators refuse with a message.
_PATTERN = Field(json_schema_extra={"pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$"})
_KEY_PATTERN = Field(
    json_schema_extra={"pattern": r"^[^\u0000-\u001f\u007f]*[^\s\u0000-\u001f\u007f][^\u0000-\u001f\u007f]*$"}
)

Label = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_keepable), _PATTERN]
Key = Annotated[
    str,
    StringConstraints(min_length=1, max_length=256),
    AfterValidator(_keepable),
    AfterValidator(_one_line),
    _KEY_PATTERN,
]
