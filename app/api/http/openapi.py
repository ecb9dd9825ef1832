"""Finish the OpenAPI document: reading order, short names, one shared problem, an example for everything."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from app.api.items.schemas import ItemIn

TAGS = {
    "jobs": "What is to be labeled, what it may cost, and how sure the labels must be. Start here.",
    "items": "The things to be labeled. Add them as JSON, NDJSON or CSV, and see the state of each.",
    "work": "What a crowdsourcing platform calls: get the next items for a worker, send the answers.",
    "workers": "Who answers, how well, at what price; block and unblock workers.",
    "results": "The labels, with how sure they are, and the answers behind them.",
    "audits": "Prove how often labels are right by checking a random sample, and get a certificate.",
    "operations": "Long work on a job that can be watched: refits, forecasts and replays.",
    "plans": "What a job will cost and reach, before any money is spent.",
    "catalog": "Every policy that a job can use, with its formula and its paper.",
    "health": "For supervisors and load balancers.",
}
_PROBLEM = {
    "type": "urn:suffice:problem:invalid-input",
    "title": "Some fields of the request are not valid.",
    "status": 422,
    "detail": "#/labels: Must have at least 2 labels",
    "code": "invalid-input",
    "errors": [{"pointer": "#/labels", "message": "Must have at least 2 labels"}],
    "request_id": "5f1c0b9e8d7a4c3b9a2e6d5f4c3b2a10",
}
_STATUS_NAMES = {
    "404": "NotFound",
    "406": "NotAcceptable",
    "408": "RequestTimeout",
    "409": "Conflict",
    "413": "TooLarge",
    "415": "UnsupportedMediaType",
    "422": "Invalid",
    "503": "Unavailable",
}
_EXAMPLES = Path(__file__).parent / "examples.json"

Node = dict[str, Any]


def operation_id(route: APIRoute) -> str:
    """Use the name of the endpoint's function, such as `create_job`."""
    return route.name


class DocumentedApp(FastAPI):
    """An application that passes its OpenAPI document through `finish`."""

    def openapi(self) -> Node:
        if self.openapi_schema is None:
            self.openapi_schema = finish(super().openapi())
        return self.openapi_schema


def finish(document: Node) -> Node:
    """Improve the document that FastAPI generates: order, names, problems, examples."""
    document["paths"] = dict(sorted(document["paths"].items(), key=_reading_order))
    schemas: Node = document["components"]["schemas"]
    schemas |= _schema_of_items()
    schemas["Problem"]["examples"] = [_PROBLEM]
    document["components"]["responses"] = {}
    for operation in operations(document):
        _add_examples(operation)
        _simplify(operation)
        _describe_success(operation, schemas)
        _share_problems(operation, document["components"]["responses"])
    for node in _nodes(document):
        _tidy(node)
    document["components"]["schemas"] = dict(sorted(_used(document, schemas).items()))
    return document


def operations(document: Node) -> Iterator[Node]:
    """Yield all operations of a document, in its order."""
    for methods in document["paths"].values():
        yield from methods.values()


@cache
def examples() -> Node:
    """Load, for each operation id, the `request` and the `response`; all come from one small job.

    `kinds` has the same of jobs with other kinds of answers, by what these answers are.
    """
    found: Node = json.loads(_EXAMPLES.read_text())
    return found


def _reading_order(path: tuple[str, Node]) -> int:
    operation, *_ = path[1].values()
    return list(TAGS).index(operation["tags"][0])


def _schema_of_items() -> Node:
    """Build the schema of the body of `add_items`: the body is streamed, so FastAPI does not know its schema."""
    schema = TypeAdapter(ItemIn).json_schema(ref_template="#/components/schemas/{model}")
    inner: Node = schema.pop("$defs", {})
    return inner | {"ItemIn": schema}


def _add_examples(operation: Node) -> None:
    found: Node = examples().get(operation["operationId"], {})
    for parameter in operation.get("parameters", []):
        if parameter["name"] in found.get("path", {}):
            parameter["example"] = found["path"][parameter["name"]]
            parameter["schema"].pop("example", None)
    if "request" in found:
        _show(operation["requestBody"]["content"]["application/json"], found, "request")
    for status, response in operation["responses"].items():
        content = response.get("content", {}).get("application/json")
        if status.startswith("2") and content is not None and "example" not in content and "response" in found:
            _show(content, found, "response")


def _show(content: Node, found: Node, part: str) -> None:
    """Give a body its example; one for each kind of answers where they differ."""
    kinds = {name: {"value": one[part]} for name, one in found.get("kinds", {}).items() if part in one}
    if kinds:
        content["examples"] = {"one label": {"value": found[part]}} | kinds
    else:
        content["example"] = found[part]


def _simplify(operation: Node) -> None:
    """Remove generated titles, and null as a type of parameters: a request can leave them out, but not send null."""
    for parameter in operation.get("parameters", []):
        schema = parameter["schema"]
        members = [one for one in schema.get("anyOf", []) if one != {"type": "null"}]
        if len(members) == 1:
            del schema["anyOf"]
            parameter["schema"] = members[0] | schema
    answers = operation["responses"].values()
    for part in (*operation.get("parameters", []), *_contents(operation.get("requestBody", {}), *answers)):
        part.get("schema", {}).pop("title", None)


def _describe_success(operation: Node, schemas: Node) -> None:
    """Say what a successful response is: FastAPI writes "Successful Response" everywhere."""
    for status, response in operation["responses"].items():
        if not status.startswith("2") or response["description"] != "Successful Response":
            continue
        named = [node["$ref"].rpartition("/")[2] for one in _contents(response) for node in _alternatives(one)]
        said = [schemas[name]["description"].partition("\n\n")[0].replace("\n", " ") for name in dict.fromkeys(named)]
        response["description"] = " · ".join(said) or "Done; the response is empty."


def _contents(*parts: Node) -> Iterator[Node]:
    for part in parts:
        yield from part.get("content", {}).values()


def _alternatives(content: Node) -> list[Node]:
    """Return the references of a content's schema, which is one schema or a choice of several."""
    schema = content.get("schema", {})
    return [one for one in (schema, *schema.get("anyOf", []), *schema.get("oneOf", [])) if "$ref" in one]


def _share_problems(operation: Node, shared: Node) -> None:
    """Refer to one shared response per status; each operation keeps only its own description, which lists the codes."""
    for status, response in operation["responses"].items():
        if not status.startswith(("4", "5")):
            continue
        name = _STATUS_NAMES[status]
        headers = {"headers": response["headers"]} if "headers" in response else {}
        shared.setdefault(name, {"description": f"A problem with status {status}"} | headers | _problem_content())
        operation["responses"][status] = {
            "$ref": f"#/components/responses/{name}",
            "description": response["description"],
        }


def _problem_content() -> Node:
    return {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}


def _nodes(value: Any) -> Iterator[Node]:  # noqa: ANN401  any part of a document
    if isinstance(value, dict):
        yield value
        for name, inner in list(value.items()):
            if name not in {"example", "examples", "default"}:
                yield from _nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _nodes(inner)


def _tidy(node: Node) -> None:
    """Remove doctests, titles of fields and objects as defaults, which confuse readers and client generators."""
    if isinstance(node.get("description"), str):
        node["description"] = node["description"].split("\n>>>")[0].split("\n\n>>>")[0].rstrip()
    if "oneOf" in node and isinstance(node.get("default"), dict):
        del node["default"]
    properties = node.get("properties")
    for name, field in properties.items() if isinstance(properties, dict) else ():
        if not isinstance(field, dict):
            continue
        field.pop("title", None)
        if name == "kind" and "const" in field:
            field.setdefault("description", f"Always `{field['const']}`")
        default = field.get("default")
        if isinstance(default, dict | list):
            said = json.dumps(field.pop("default"))
            field["description"] = f"{field.get('description', '')} (default: `{said}`)".strip()


def _used(document: Node, schemas: Node) -> Node:
    """Return the schemas that the document refers to."""
    named = {node["$ref"].rpartition("/")[2] for node in _nodes(document["paths"]) if _is_schema_ref(node)}
    waiting = [*named, "Problem"]
    used: Node = {}
    while waiting:
        name = waiting.pop()
        if name not in used:
            used[name] = schemas[name]
            waiting += [node["$ref"].rpartition("/")[2] for node in _nodes(schemas[name]) if _is_schema_ref(node)]
    return used


def _is_schema_ref(node: Node) -> bool:
    return str(node.get("$ref", "")).startswith("#/components/schemas/")
