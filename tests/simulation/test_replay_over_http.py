"""The service asks a recorded crowd the same questions over HTTP as `suffice replay`, with the same results."""

from dataclasses import dataclass, field, replace

import httpx
import numpy as np
import pytest
from pydantic import TypeAdapter

from app.policy.answers import AnyAnswer, Content
from app.policy.core.belief import NOBODY, IntArray
from app.policy.core.number_belief import NumberBelief
from app.policy.core.policy import Uses
from app.policy.job_policy import JobPolicy
from app.simulation.crowd_generator import Distribution, Recipe, generate_answers
from app.simulation.named_policies import NAMES, VARIANTS, Workers, policy_of
from app.simulation.policy_replay import runs_sequentially, selection_for, step, with_worker_choice
from app.simulation.recorded_crowd import RecordedAnswers, RecordedCrowd
from app.simulation.recorded_runs import RecordedRuns
from app.simulation.selection import order_of_arrival
from app.simulation.sequential_replay import ask_until_done, recorded_job

ANSWERS = 36  # the first thirty cause a refit
SEED = 20  # of a crowd that has it all
HARD = Recipe(
    items=10, workers=7, skill=Distribution("uniform", 0.6, 0.95), difficulty=Distribution("beta", 1, 3), spammers=0.3
)
POLICIES = [*NAMES, *VARIANTS]

Given = tuple[str, str, Content]  # item, worker and what was answered


@dataclass
class Platform:
    """A client with a recorded crowd: it asks the service what to do, and sends the recorded answers."""

    http: httpx.AsyncClient
    path: str
    crowd: RecordedAnswers
    given: list[Given] = field(default_factory=list)
    left_out: int = 0  # answers that do not count
    low_information: set[str] = field(default_factory=set)  # workers who get no new work, and ask again when they may

    @classmethod
    async def of(
        cls, http: httpx.AsyncClient, crowd: RecordedAnswers, policy: JobPolicy, budget: int | None
    ) -> "Platform":
        job = await http.post("/v1/jobs", json=policy.model_dump(mode="json") | {"budget": budget})
        assert job.status_code == 201, job.text
        platform = cls(http, f"/v1/jobs/{job.json()['id']}", crowd)
        added = await http.post(f"{platform.path}/items", json=[{"key": name} for name in crowd.items])
        assert added.status_code == 201, added.text
        return platform

    async def pull(self, answers: int) -> None:
        """Show the item with the highest priority; the next worker who arrives gives the recorded answer."""
        coming = self._coming()
        while len(self.given) < answers and (item := await self._wanted(coming)) is not None:
            worker = next(one for one in coming[item] if one not in self.low_information)
            coming[item].remove(worker)
            await self._answer({"item": item, "worker": worker}, item, worker)

    async def choose(self, answers: int) -> None:
        """Say that all workers are available, and ask whom the job picks."""
        everybody = {"workers": list(self.crowd.workers)}
        while len(self.given) < answers and (picked := (await self._post("next", everybody))["assignments"]):
            await self._answer({"assignment": picked[0]["id"]}, picked[0]["item"], picked[0]["worker"])

    async def results(self) -> list[str | None]:
        """The result of each resolved item; None for other items."""
        told = await self.http.get(f"{self.path}/results")
        found = [one[self.crowd.answer.field] if one["state"] == "resolved" else None for one in told.json()["results"]]
        return [None if one is None else written(self.crowd, one) for one in found]

    async def has_seen(self) -> set[str]:
        """What happened to workers and votes."""
        workers = (await self.http.get(f"{self.path}/workers")).json()["workers"]
        seen = {
            "vote left out": self.left_out,
            "votes held to labels": all(one["scored_answers"] for one in workers),
            "block": any(one["status"] == "blocked" for one in workers),
            "gold": any(one["gold"]["asked"] for one in workers),
        }
        return {what for what, happened in seen.items() if happened}

    def _coming(self) -> dict[str, list[str]]:
        """The order in which workers arrive at each item, which the crowd determines and not the policy."""
        coming: dict[str, list[str]] = {name: [] for name in self.crowd.items}
        for item, worker, _ in named(self.crowd, order_of_arrival(self.crowd, 1, "random")[0]):
            coming[item].append(worker)
        return coming

    async def _wanted(self, coming: dict[str, list[str]]) -> str | None:
        """The first item that some worker can still answer. Its assignment is released: the worker is not known yet."""
        workers = (await self.http.get(f"{self.path}/workers")).json()["workers"]
        self.low_information = {one["worker"] for one in workers if one["low_information"] is not None}
        left = {item: set(line) - self.low_information for item, line in coming.items()}
        told = await self._post("next", {"count": 1 + sum(not some for some in left.values())})
        for one in told["assignments"]:
            await self._post(f"assignments/{one['id']}/release")
        return next((one["item"] for one in told["assignments"] if left[one["item"]]), None)

    async def _answer(self, under: dict[str, str], item: str, worker: str) -> None:
        """Send the recorded answer, unless the worker is blocked."""
        crowd = self.crowd
        said = crowd.given[crowd.items.index(item), crowd.workers.index(worker)]
        content = crowd.answer.content(said, crowd.labels)
        told = await self.http.post(f"{self.path}/answers", json=under | {crowd.answer.field: content})
        if told.status_code == 409 and told.json()["code"] == "worker-blocked":
            return
        assert told.status_code == 200, told.text
        self.given.append((item, worker, content))
        self.left_out += not told.json()["counted"]

    async def _post(self, what: str, body: dict | None = None) -> dict:
        told = await self.http.post(f"{self.path}/{what}", json=body)
        assert told.status_code == 200, told.text
        return told.json()


@dataclass(frozen=True)
class Noting(RecordedCrowd):
    """A recorded crowd that notes what it is asked."""

    asked: list[int] = field(default_factory=list)  # answers, in order

    def answers(self, item: IntArray, worker: IntArray, rng: np.random.Generator) -> IntArray:
        crowd = self.recorded
        self.asked.extend(np.flatnonzero((crowd.item == item) & (crowd.worker == worker)).tolist())
        return super().answers(item, worker, rng)


def named(crowd: RecordedAnswers, answers: IntArray | list[int]) -> list[Given]:
    rows = zip(*(each[answers].tolist() for each in (crowd.item, crowd.worker, crowd.label)), strict=True)
    content = crowd.answer.content
    return [(crowd.items[item], crowd.workers[worker], content(said, crowd.labels)) for item, worker, said in rows]


def written(crowd: RecordedAnswers, content: Content) -> str:
    """A result to compare: the service shows numbers with nine digits."""
    return f"{content:.6g}" if isinstance(content, float) else crowd.answer.text(content)


def in_process(
    crowd: RecordedAnswers, policy: JobPolicy, workers: Workers, answers: int, budget: int | None
) -> tuple[list[Given], list[str | None]]:
    """What the first seed of `suffice replay` asks, and the results."""
    money = None if budget is None else float(budget)
    if runs_sequentially(policy, workers):
        simulated_job = recorded_job(crowd, policy, 0, budget=money)
        simulated_job.crowd = noting = Noting(crowd)
        asks = ask_until_done(simulated_job, crowd, 0, workers, "random")
        while simulated_job.job.answers < answers and next(asks, None) is not None:
            pass
        given, label, belief = named(crowd, noting.asked), simulated_job.job.label, simulated_job.job.belief()
    else:
        runs = RecordedRuns(crowd, policy, 1, budget=money)
        selection = selection_for(runs, workers, "random")
        while runs.given[0] < answers and step(runs, selection):
            pass
        given, label = named(crowd, runs.taken[0, : runs.given[0]]), runs.label
        belief = runs.engines[runs.stage[0]].lookahead(runs.rows.all(), runs.context).now
    found = belief.value if isinstance(belief, NumberBelief) else label
    contents = [crowd.answer.content(one, crowd.labels) for one in found.tolist()]
    pairs = zip(contents, label.tolist(), strict=True)
    return given, [None if one == NOBODY else written(crowd, content) for content, one in pairs]


async def compare(
    http: httpx.AsyncClient, crowd: RecordedAnswers, policy: JobPolicy, workers: Workers, answers: int = ANSWERS
) -> Platform:
    """Both ask the same questions, get the same answers, and end with the same results."""
    policy = with_worker_choice(policy, workers)
    budget = answers if Uses.BUDGET in policy.uses or workers == "choose" else None
    platform = await Platform.of(http, crowd, policy, budget)
    await (platform.pull if workers == "pull" else platform.choose)(answers)
    given, results = in_process(crowd, policy, workers, answers, budget)
    assert platform.given == given
    assert await platform.results() == results
    return platform


@pytest.mark.parametrize("name", POLICIES)
async def test_whoever_comes_by_is_asked_the_same(client, name):
    """In this crowd answers are missing, so an item may run out of answers before the policy has finished it."""
    crowd = generate_answers(replace(HARD, answers_per_item=6), np.random.default_rng(SEED))
    await compare(client, crowd, policy_of(name, crowd.labels, "pull", seed=5), "pull")


async def test_the_same_people_are_turned_away(client):
    """The service and the replay exclude the same workers at every fit."""
    recipe = replace(HARD, items=30, workers=16, spammers=0.4)
    crowd = generate_answers(recipe, np.random.default_rng(SEED))
    choice = {"kind": "pull", "min_information_share": 1, "min_answers": 4}
    policy = JobPolicy.model_validate({"labels": crowd.labels, "seed": 5, "worker_choice": choice})
    platform = await compare(client, crowd, policy, "pull", answers=130)
    assert platform.low_information


@pytest.mark.parametrize("name", POLICIES)
async def test_the_job_picks_the_same_pairs(client, name):
    """In this crowd everybody has answered every item, so every pair that the job picks has an answer."""
    crowd = generate_answers(HARD, np.random.default_rng(SEED))
    await compare(client, crowd, policy_of(name, crowd.labels, "choose", seed=5), "choose")


DECIDED = {"requirement": {"kind": "count", "labels": 4}}
EARLY = {"min_answers": 3, "alpha": 0.4}
APART = {  # the policy, what should happen in the job, and how it can be asked
    "spammers": (DECIDED | {"spammers": EARLY}, "block", ("pull", "choose")),
    "discounts": (DECIDED | {"spammers": EARLY | {"votes": "discount"}}, "block", ("pull",)),
    "weighted": (DECIDED | {"worker_model": {"kind": "weighted"}}, "votes held to labels", ("pull",)),
    "spam filter": (
        DECIDED
        | {"worker_model": {"kind": "spam-filter", "min_labels": 3, "alpha": 0.4}}
        | {"worker_choice": {"kind": "pair", "trial": 0, "second_opinions": 0}},
        "vote left out",
        ("choose",),
    ),
    "index": (DECIDED | {"worker_choice": {"kind": "ucb"}}, "votes held to labels", ("choose",)),
    "own gold": ({"auto_gold": {"min_confidence": 0.8}, "gold": {"first_share": 0.5}}, "gold", ("choose",)),
}


@pytest.mark.parametrize(("name", "workers"), [(name, each) for name, (*_, modes) in APART.items() for each in modes])
async def test_a_job_whose_finished_items_matter_is_asked_the_same(client, name, workers):
    """Covers blocks, recounts, records and gold. A job that ranks or tests workers must know who they are."""
    fields, happens, _ = APART[name]
    crowd = generate_answers(HARD, np.random.default_rng(SEED))
    policy = JobPolicy.model_validate({"labels": crowd.labels, "seed": 5} | fields)
    platform = await compare(client, crowd, policy, workers, answers=50)
    assert happens in await platform.has_seen()


KINDS = {
    "several labels": {"answer": {"kind": "choices"}, "requirement": {"kind": "posterior", "min_probability": 0.85}},
    "several labels by votes": {
        "answer": {"kind": "choices"},
        "worker_model": {"kind": "anonymous"},
        "requirement": {"kind": "ratio", "min_ratio": 2},
        "allocation": {"kind": "opt-kg"},
    },
    "labels in order": {"answer": {"kind": "ordinal"}},
    "the median": {"answer": {"kind": "ordinal", "label": "median"}},
    "numbers": {
        "answer": {"kind": "number", "low": -10, "high": 40},
        "requirement": {"kind": "precision", "half_width": 12},
    },
}


@pytest.mark.parametrize(
    ("kind", "workers"),
    [(kind, workers) for kind in KINDS for workers in ("pull", "choose") if (kind, workers) != ("numbers", "choose")],
)
async def test_answers_of_every_kind_are_asked_for_alike(client, kind, workers):
    fields = {"seed": 5} | KINDS[kind]
    answer = TypeAdapter(AnyAnswer).validate_python(fields["answer"])
    crowd = generate_answers(replace(HARD, classes=3), np.random.default_rng(SEED), answer)
    policy = JobPolicy.model_validate({"labels": crowd.labels} | fields)
    platform = await compare(client, crowd, policy, workers, answers=45)
    assert any(await platform.results())
