"""Who takes part in a comparison: policies by name, and jobs by their configuration."""

import json
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import click
from pydantic import ValidationError

from app.api.job_schemas import JobIn, JobOut
from app.lab.policies import PolicyUnknown, Workers, rules_of
from app.policy.rules import Rules


class Contender(NamedTuple):
    """A name of its own, what it does, and the budget of its own that a job may have."""

    name: str
    rules: Rules
    most_labels: int | None = None


def by_name(policies: Sequence[str], labels: Sequence[str], workers: Workers) -> Iterator[Contender]:
    """The policies; a name may hold several, separated by commas."""
    for name in dict.fromkeys(name.strip() for given in policies for name in given.split(",")):
        try:
            yield Contender(name, rules_of(name, labels, workers))
        except PolicyUnknown as error:
            raise click.BadParameter(str(error), param_hint="--policy") from error
        except ValidationError as error:
            raise click.BadParameter(f"{name}: {_first(error)}", param_hint="--policy") from error


class Configured:
    """The job of a file: as POST /v1/jobs takes it, or as GET /v1/jobs/{job} tells it."""

    def __init__(self, path: Path, labels: Sequence[str]) -> None:
        """Without labels of its own, it takes these."""
        self.path = path
        given = _read(path)
        told = given.keys() & (JobOut.model_fields.keys() - JobIn.model_fields.keys())
        left_out = {*told, "plan"} if told else set()  # what its plan has settled, a job that is told says itself
        body = {name: value for name, value in given.items() if name not in left_out}
        unlimited = {} if "budget" in (body.get("plan") or ()) else {"budget": None}
        try:
            self.job = JobIn.model_validate({"labels": tuple(labels)} | unlimited | body)
        except ValidationError as error:
            raise _wrong(path, _first(error)) from error
        if self.job.reputation is not None:
            click.echo(f"Note: {path}: the job of its reputation is not at hand; all workers begin alike.", err=True)

    def contender(self, labels: Sequence[str], taken: Sequence[str]) -> Contender:
        """Under a name that is not taken, with the labels in this order: it tells nothing, and positions are by it."""
        name = self.job.name or self.path.stem
        name = f"{name} ({self.path})" if name in taken else name
        rules = self.job.rules().model_copy(update={"labels": tuple(labels)})
        return Contender(name, rules, None if self.job.budget is None else int(self.job.budget))


def all_labels(jobs: Sequence[Configured], given: Sequence[str]) -> tuple[str, ...]:
    """The labels that were given, and those that the jobs knew though nobody gave them; all jobs must know all."""
    every = {*given}.union(*(each.job.labels for each in jobs))
    for each in jobs:
        if missing := every - {*each.job.labels}:
            unknown = ", ".join(map(repr, sorted(missing)))
            known = ", ".join(map(repr, each.job.labels))
            raise _wrong(each.path, f"labels: {unknown} are not among its labels {known}; leave them out to take all")
    return tuple(sorted(every))


def refuse_another_number_of_labels(jobs: Sequence[Configured], classes: int) -> None:
    """Of an invented crowd labels have no meaning: a job's own names do as well, if they are as many."""
    for each in jobs:
        if len(each.job.labels) != classes:
            raise _wrong(each.path, f"labels: it has {len(each.job.labels)}, and the crowd {classes}: see --classes")


def _read(path: Path) -> dict[str, Any]:
    try:
        given = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"{path} is no JSON: {error}", param_hint="--config") from error
    if not isinstance(given, dict):
        raise click.BadParameter(f"{path} must hold an object, as POST /v1/jobs takes it", param_hint="--config")
    return given


def _wrong(path: Path, words: str) -> click.BadParameter:
    return click.BadParameter(f"{path}: {words}", param_hint="--config")


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    place, message = ".".join(map(str, found["loc"])), found["msg"]
    if found["type"] == "extra_forbidden":
        near = get_close_matches(str(found["loc"][-1]), JobIn.model_fields, n=1) if len(found["loc"]) == 1 else []
        message = "there is no such field" + (f"; did you mean {near[0]}?" if near else "")
    return f"{place}: {message}"
