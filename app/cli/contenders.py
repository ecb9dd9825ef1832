"""The contenders of a comparison: policies by name, and jobs from configuration files."""

import json
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import click
from pydantic import BaseModel, ValidationError

from app.api.jobs.schemas import JobIn, JobOut
from app.policy.answers import CHOICE, AnyAnswer
from app.policy.job_policy import JobPolicy
from app.policy.quality.item_features import LogisticFeatures
from app.simulation.named_policies import PolicyUnknown, Workers, policy_of

_OF_RESULTS = {"label"}  # says what a result is: jobs that differ in it take the same answers


class Contender(NamedTuple):
    """A unique name, a policy, and the budget of a configured job."""

    name: str
    policy: JobPolicy
    most_labels: int | None = None


def by_name(
    policies: Sequence[str],
    labels: Sequence[str],
    workers: Workers,
    answer: AnyAnswer,
    *,
    with_features: bool = False,
) -> Iterator[Contender]:
    """Return the policies with these names; each may be a list of names, separated by commas."""
    learns = {"features": LogisticFeatures()} if with_features else {}
    for name in dict.fromkeys(name.strip() for given in policies for name in given.split(",")):
        try:
            yield Contender(name, policy_of(name, labels, workers, answer=answer).model_copy(update=learns))
        except PolicyUnknown as error:
            raise click.BadParameter(str(error), param_hint="--policy") from error
        except ValidationError as error:
            raise click.BadParameter(f"{name}: {_first(error)}", param_hint="--policy") from error


class _Answers(BaseModel):
    """The part of a job that says what an answer is."""

    answer: AnyAnswer = CHOICE


def answer_of(configs: Sequence[Path]) -> AnyAnswer:
    """What an answer is in the jobs of these files, which must take the same answers; no file: one of the labels."""
    found = [(path, _answer_in(path)) for path in configs] or [(Path(), CHOICE)]
    first, *others = found
    for path, answer in others:
        if answer.model_dump(exclude=_OF_RESULTS) != first[1].model_dump(exclude=_OF_RESULTS):
            raise _wrong(
                path,
                f"answer: {answer.model_dump_json()} is not {first[1].model_dump_json()} of {first[0]}. "
                "Replay the jobs one after the other.",
            )
    return first[1]


def _answer_in(path: Path) -> AnyAnswer:
    try:
        return _Answers.model_validate(_read(path)).answer
    except ValidationError as error:
        raise _wrong(path, _first(error)) from error


class ConfiguredJob:
    """A job from a file: a body of POST /v1/jobs, or a response of GET /v1/jobs/{job}."""

    def __init__(self, path: Path, labels: Sequence[str]) -> None:
        """Read the file; a job without labels gets these."""
        self.path = path
        given = _read(path)
        shown = given.keys() & (JobOut.model_fields.keys() - JobIn.model_fields.keys())
        left_out = {*shown, "plan"} if shown else set()  # a response holds the result of its plan in other fields
        body = {name: value for name, value in given.items() if name not in left_out}
        unlimited = {} if "budget" in (body.get("plan") or ()) else {"budget": None}
        try:
            self.job = JobIn.model_validate({"labels": tuple(labels)} | unlimited | body)
        except ValidationError as error:
            raise _wrong(path, _first(error)) from error
        if self.job.answer.in_order and "labels" not in body:
            raise _wrong(
                path, "labels: Must be given, from the lowest to the highest; the answers do not show their order"
            )
        if self.job.reputation is not None:
            click.echo(f"Note: {path}: reputation is ignored here; all workers start as new workers.", err=True)

    def contender(self, labels: Sequence[str], taken: Sequence[str]) -> Contender:
        """The job under a name that is not taken, with its labels in this order, which the recorded answers use."""
        name = self.job.name or self.path.stem
        name = f"{name} ({self.path})" if name in taken else name
        policy = self.job.policy().model_copy(update={"labels": tuple(labels)})
        return Contender(name, policy, None if self.job.budget is None else int(self.job.budget))


def all_labels(jobs: Sequence[ConfiguredJob], given: Sequence[str]) -> tuple[str, ...]:
    """The labels of the answers and of the jobs; every job with labels of its own must have all of them."""
    every = {*given}.union(*(each.job.labels for each in jobs))
    for each in jobs:
        if missing := every - {*each.job.labels}:
            unknown = ", ".join(map(repr, sorted(missing)))
            known = ", ".join(map(repr, each.job.labels))
            raise _wrong(
                each.path,
                f"labels: {unknown} are not among its labels {known}. Add them, or remove labels to use all.",
            )
    in_order = {each.job.labels: each.path for each in jobs if each.job.answer.in_order}
    if len(in_order) > 1:
        raise _wrong([*in_order.values()][1], "labels: The jobs have their labels in different orders")
    return next(iter(in_order), tuple(sorted(every)))


def check_number_of_labels(jobs: Sequence[ConfiguredJob], classes: int) -> None:
    """Labels of a synthetic crowd have no meaning, so a job may have its own, if their number is the same."""
    for each in jobs:
        if len(each.job.labels) != classes:
            raise _wrong(
                each.path,
                f"labels: the job has {len(each.job.labels)}, the crowd has {classes}. Change --classes.",
            )


def _read(path: Path) -> dict[str, Any]:
    try:
        given = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"{path} is not JSON: {error}", param_hint="--config") from error
    if not isinstance(given, dict):
        raise click.BadParameter(
            f"{path} must hold a JSON object, like the body of POST /v1/jobs", param_hint="--config"
        )
    return given


def _wrong(path: Path, message: str) -> click.BadParameter:
    return click.BadParameter(f"{path}: {message}", param_hint="--config")


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    place, message = ".".join(map(str, found["loc"])), found["msg"]
    if found["type"] == "extra_forbidden":
        near = get_close_matches(str(found["loc"][-1]), JobIn.model_fields, n=1) if len(found["loc"]) == 1 else []
        message = "there is no such field" + (f"; did you mean {near[0]}?" if near else "")
    return f"{place}: {message}"
