"""Turn pydantic's errors into messages for people: which field is wrong, and what is valid."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, RootModel

from app.errors import FieldError, shortened

_MOST_NAMED = 30

# Messages by the type of a pydantic error; `{...}` are values from the error's context.
_SENTENCES: dict[str, str] = {
    "missing": "Is required",
    "none_required": "Must be null",
    "string_type": "Must be a string",
    "string_sub_type": "Must be a string",
    "string_unicode": "Must be a string without broken characters",
    "string_too_short": "Must have at least {min_length} characters",
    "string_too_long": "Must have at most {max_length} characters",
    "string_pattern_mismatch": "Must not be blank or contain line breaks or other control characters",
    "bool_type": "Must be true or false",
    "bool_parsing": "Must be true or false",
    "int_type": "Must be a whole number",
    "int_parsing": "Must be a whole number",
    "int_from_float": "Must be a whole number",
    "int_parsing_size": "Must be a whole number with fewer digits",
    "float_type": "Must be a number",
    "float_parsing": "Must be a number",
    "finite_number": "Must be a finite number",
    "multiple_of": "Must be a multiple of {multiple_of}",
    "decimal_type": 'Must be an amount: a number, or a string such as "12.50"',
    "decimal_parsing": 'Must be an amount: a number, or a string such as "12.50"',
    "decimal_max_digits": "Must have at most {max_digits} digits",
    "decimal_max_places": "Must have at most {decimal_places} decimals",
    "decimal_whole_digits": "Must have at most {whole_digits} digits before the decimal point",
    "greater_than": "Must be more than {gt}",
    "greater_than_equal": "Must be at least {ge}",
    "less_than": "Must be less than {lt}",
    "less_than_equal": "Must be at most {le}",
    "too_short": "Must have at least {min_length} {entries}",
    "too_long": "Must have at most {max_length} {entries}",
    "list_type": "Must be a list",
    "tuple_type": "Must be a list",
    "set_type": "Must be a list",
    "frozen_set_type": "Must be a list",
    "dict_type": "Must be an object",
    "model_type": "Must be an object",
    "model_attributes_type": "Must be an object",
    "dataclass_type": "Must be an object",
    "literal_error": "Must be {expected}",
    "enum": "Must be {expected}",
    "uuid_type": "Must be an id, such as 0190a1b2-0000-7000-8000-000000000001",
    "uuid_parsing": "Must be an id, such as 0190a1b2-0000-7000-8000-000000000001",
    "datetime_type": "Must be a time, such as 2026-01-05T09:00:00Z",
    "datetime_parsing": "Must be a time, such as 2026-01-05T09:00:00Z",
    "datetime_from_date_parsing": "Must be a time, such as 2026-01-05T09:00:00Z",
    "timezone_aware": "Must name its time zone, such as 2026-01-05T09:00:00Z",
    "recursion_loop": "Must not contain itself",
}

Details = Mapping[str, Any]  # an error as pydantic and FastAPI describe it


def body_error(error: Details, body: Any, model: Any) -> FieldError:  # noqa: ANN401  whatever was sent, whatever is taken
    """Describe an error in the body, with a JSON pointer to it; `model` is the type that the body should have."""
    path = error["loc"][1:]
    steps = _real_path(path, body, missing=error["type"] == "missing")
    pointer = "#" + "".join(f"/{_escaped(step)}" for step in steps)
    if error["type"] == "extra_forbidden":
        return FieldError(pointer, unknown_field(path, model))
    return FieldError(pointer, sentence(error))


def sentence(error: Details) -> str:
    """Say what is valid, in plain words.

    >>> sentence({"type": "greater_than_equal", "ctx": {"ge": 1}, "input": 0, "msg": "..."})
    'Must be at least 1'
    >>> sentence({"type": "less_than_equal", "ctx": {"le": 0.999999}, "input": 95, "msg": "..."})
    'Must be at most 0.999999; write 95 % as 0.95'
    """
    kind, facts = error["type"], dict(error.get("ctx") or {})
    if kind in {"union_tag_not_found", "union_tag_invalid"}:
        return _wrong_kind(kind, facts, error.get("input"))
    if kind == "string_too_short" and facts.get("min_length") == 1:
        return "Must not be empty"
    if kind not in _SENTENCES:
        return shortened_text(str(error["msg"]))
    if "expected" in facts:
        facts["expected"] = _expected(str(facts["expected"]))
    facts["entries"] = _entries(facts)
    return shortened_text(_SENTENCES[kind].format_map(_Facts(facts)) + _percent_hint(facts, error.get("input")))


def unknown_field(path: Sequence[Any], model: Any) -> str:  # noqa: ANN401  whatever is taken
    """Name the field that was probably meant, or all known fields."""
    known = next(iter(_fields_at(model, list(path[:-1]))), [])
    similar = get_close_matches(str(path[-1])[:100], known, 1, cutoff=0.6)
    if similar:
        return f"Unknown field; did you mean `{similar[0]}`?"
    named = ", ".join(known[:_MOST_NAMED])
    return f"Unknown field; the known fields are {named}" if known else "Unknown field"


def without_consequences(fields: Sequence[FieldError]) -> tuple[FieldError, ...]:
    """Leave out errors that only repeat an inner one: a list with a wrong entry is also reported as too short."""
    outer = {parent for field in fields for parent in _parents(field.pointer)}
    return tuple(field for field in fields if field.pointer not in outer)


def shortened_text(text: str, longest: int = 400) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"


class _Facts(dict[str, Any]):
    def __missing__(self, name: str) -> str:
        return "?"

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  whatever pydantic gives
        value = super().__getitem__(name)
        if isinstance(value, float):
            return f"{value:g}"
        return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and value < 10**15 else value


def _entries(facts: Mapping[str, Any]) -> str:
    one = facts.get("min_length", facts.get("max_length")) == 1
    what = ("field", "fields") if facts.get("field_type") == "Dictionary" else ("entry", "entries")
    return what[0] if one else what[1]


def _wrong_kind(kind: str, facts: Mapping[str, Any], given: Any) -> str:  # noqa: ANN401  whatever was sent
    name = str(facts.get("discriminator", "'kind'")).strip("'")
    if kind == "union_tag_not_found":
        if not isinstance(given, dict):
            return f'Must be an object with a `{name}`, such as {{"{name}": "..."}}; GET /v1/catalog lists all kinds'
        return f"Must have a `{name}`; GET /v1/catalog lists all kinds"
    expected = str(facts["expected_tags"]).replace("'", "")
    return f"There is no {name} {shortened(facts['tag'])}; choose one of {expected}"


def _expected(said: str) -> str:
    """Format the choices that pydantic lists.

    >>> _expected("'pull' or 'choose'"), _expected("'a', 'b' or 'c'")
    ("'pull' or 'choose'", "one of 'a', 'b' or 'c'")
    """
    return f"one of {said}" if "," in said else said


def _percent_hint(facts: Mapping[str, Any], given: Any) -> str:  # noqa: ANN401  whatever was sent
    most = facts.get("le", facts.get("lt"))
    is_share = isinstance(most, int | float) and most <= 1
    if is_share and isinstance(given, int | float) and not isinstance(given, bool) and 1 < given <= 100:  # noqa: PLR2004
        return f"; write {given:g} % as {given / 100:g}"
    return ""


def _fields_at(model: Any, path: list[Any]) -> Iterator[list[str]]:  # noqa: ANN401  any annotation
    """Yield the field names of the model at the end of an error's location, which also contains the tags of unions."""
    origin = get_origin(model)
    if origin is Annotated:
        yield from _fields_at(get_args(model)[0], path)
    elif origin in (Union, UnionType):
        yield from _fields_of_union([one for one in get_args(model) if one is not NoneType], path)
    elif origin in (list, tuple, set, frozenset) and path and isinstance(path[0], int):
        yield from _fields_at(get_args(model)[0], path[1:])
    elif origin is dict and path:
        yield from _fields_at(get_args(model)[1], path[1:])
    elif isinstance(model, type) and issubclass(model, RootModel):
        yield from _fields_at(model.model_fields["root"].annotation, path)
    elif isinstance(model, type) and issubclass(model, BaseModel):
        if not path:
            yield list(model.model_fields)
        elif path[0] in model.model_fields:
            yield from _fields_at(model.model_fields[path[0]].annotation, path[1:])


def _fields_of_union(members: Sequence[Any], path: list[Any]) -> Iterator[list[str]]:
    if path and isinstance(path[0], str):
        for member in members:
            if path[0] in _tags(member):
                yield from _fields_at(member, path[1:])
    for member in members:
        yield from _fields_at(member, path)


def _tags(member: Any) -> set[str]:  # noqa: ANN401  any annotation
    """Return the names that an error's location may use for a member of a union."""
    while get_origin(member) is Annotated:
        member, *more = get_args(member)
        if tags := {one.tag for one in more if hasattr(one, "tag")}:
            return tags
    if not (isinstance(member, type) and issubclass(member, BaseModel)):
        return set()
    kind = member.model_fields.get("kind")
    return {member.__name__} | (set(get_args(kind.annotation)) if kind is not None else set())


def _is_a_field(part: Any, at: Any) -> bool:  # noqa: ANN401  whatever was sent
    """Whether this part is a missing field with an invalid default, and not the tag of a union."""
    return isinstance(part, str) and isinstance(at, dict) and part not in {_kind(at), "one", "many", "[key]"}


def _kind(at: Mapping[str, Any]) -> str | None:
    kind = at.get("kind")
    return kind if isinstance(kind, str) else None


def _parents(pointer: str) -> list[str]:
    steps = pointer.split("/")
    return ["/".join(steps[:depth]) for depth in range(1, len(steps))]


def _real_path(path: Sequence[Any], body: Any, *, missing: bool) -> list[str]:  # noqa: ANN401  whatever was sent
    """Return the steps of an error's location without the tags of unions, which are not in the body."""
    steps: list[str] = []
    at = body
    for number, part in enumerate(path):
        if (isinstance(at, dict) and part in at) or (isinstance(at, list) and isinstance(part, int) and part < len(at)):
            at = at[part]
        elif number < len(path) - 1 or not (missing or _is_a_field(part, at)):
            continue
        steps.append(str(part))
    return steps


def _escaped(step: str) -> str:
    return shortened(step, quoted=False).replace("~", "~0").replace("/", "~1")
