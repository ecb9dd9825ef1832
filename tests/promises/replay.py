"""Decide again what a job has decided, from its committed answers alone, through the pure engine."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncEngine

from app.policy.answers import Said
from app.policy.core.belief import ItemContext, State
from app.policy.core.decision import Decision, Verdict
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy

_LEARNED_ABOUT = "SELECT * FROM worker WHERE job_id = :job AND skill IS NOT NULL"  # others only have a price


@dataclass
class History:
    """A job's rows."""

    job: Row[Any]
    items: list[Row[Any]]
    assignments: list[Row[Any]]
    answers: list[Row[Any]]  # in the order of commit
    skills: dict[str, list[float]]

    @property
    def policy(self) -> JobPolicy:
        return JobPolicy.model_validate(self.job.policy)

    @property
    def engine(self) -> Engine:
        budget = None if self.job.budget is None else float(self.job.budget)
        return Engine(self.policy, budget, self.job.inverse_costs, price=self.job.price)


async def history_of(database: AsyncEngine, job_id: str) -> History:
    async with database.connect() as connection:

        async def rows(query: str) -> list[Row[Any]]:
            return list((await connection.execute(text(query), {"job": UUID(job_id)})).all())

        [job] = await rows("SELECT * FROM job WHERE job_id = :job")
        return History(
            job=job,
            items=await rows("SELECT * FROM item WHERE job_id = :job ORDER BY item_id"),
            assignments=await rows("SELECT * FROM assignment WHERE job_id = :job ORDER BY assignment_id"),
            answers=await rows("SELECT * FROM answer WHERE job_id = :job ORDER BY answer_id"),
            skills={row.worker: row.skill for row in await rows(_LEARNED_ABOUT)},
        )


class Replay:
    """The least that is needed to follow a job: one state per item, one skill per worker."""

    def __init__(self, engine: Engine, items: list[Row[Any]]) -> None:
        self.engine = engine
        self.context = {
            item.item_id: ItemContext(
                np.array([float(item.cost)]),
                np.array([float(item.open_assignments)]),
                np.array([item.item_id]),
                None,
                engine.policy.seed,
            )
            for item in items
        }
        self.states: dict[int, State] = {number: engine.initial(context) for number, context in self.context.items()}
        self.skills: dict[str, np.ndarray] = {}
        self.closed: dict[int, Verdict] = {}
        self.voters: dict[int, list[tuple[str | None, Said]]] = {number: [] for number in self.context}
        first = {number: self._judge(number).max_open_assignments[0] for number in self.context}
        self.wanted: dict[int, list[float]] = {number: [wanted] for number, wanted in first.items()}  # after n answers

    def answer(self, number: int, worker: str | None, said: Said) -> Verdict:
        state, learned = self.engine.learn(
            self.states[number], self.context[number], self._skill(worker)[None, :], np.array([said])
        )
        self.states[number] = state
        self._learn(worker, learned[0])
        self.voters[number].append((worker, said))
        if number in self.closed:  # an answer under a lease that was out when the item closed; its verdict stands
            self.wanted[number].append(0)
            return self.closed[number]
        judgement = self._judge(number)
        verdict = self.engine.verdict(judgement, 0)
        self.wanted[number].append(judgement.max_open_assignments[0])
        if verdict.decision is not Decision.CONTINUE:
            self.closed[number] = verdict
        if verdict.label is not None:
            self._score(number, verdict.label)
        return verdict

    def _judge(self, number: int):
        return self.engine.judge(self.states[number], self.context[number])

    def _skill(self, worker: str | None) -> np.ndarray:
        known = None if worker is None else self.skills.get(worker)
        return self.engine.newcomer() if known is None else known

    def _learn(self, worker: str | None, skill: np.ndarray) -> None:
        if worker is not None:
            self.skills[worker] = skill

    def _score(self, number: int, label: int) -> None:
        for voter, vote in self.voters[number]:
            agreed = np.array([vote == label])
            self._learn(voter, self.engine.policy.worker_model.score(self._skill(voter)[None, :], agreed)[0])


def said_in(answer: Row[Any]) -> Said:
    """What a stored answer says."""
    return answer.label if answer.value is None else answer.value


def replayed(history: History) -> Replay:
    """Follow a job answer by answer: the same verdicts, then the same votes, evidence, priorities and skills."""
    replay = Replay(history.engine, history.items)
    for answer in history.answers:
        told = replay.answer(answer.item_id, answer.worker, said_in(answer))
        assert told.decision == answer.verdict["decision"]
        assert told.label == answer.verdict["label"]
        assert told.reason.message == answer.verdict["reason"]["message"]
    for item in history.items:
        state = replay.states[item.item_id]
        assert state.votes[0].tolist() == item.votes
        assert state.model_state[0].tolist() == item.model_state
        if item.item_id in replay.closed:
            assert item.label == replay.closed[item.item_id].label
        if item.state == "open":
            judgement = replay.engine.judge(state, replay.context[item.item_id])
            assert (judgement.tier[0], judgement.priority[0]) == (item.tier, item.priority)
            assert judgement.max_open_assignments[0] == item.max_open_assignments
    assert {worker: skill.tolist() for worker, skill in replay.skills.items() if skill.size} == history.skills
    return replay


def over_asked(history: History, wanted: dict[int, list[float]], given_back: set[int]) -> list[str]:
    """Items that were out, at the moment of some lease, to more workers than could still matter.

    What is out at that moment is counted from the rows as they are in the end, and never too high: a lease that was
    renewed is seen only from then on, and one that a client gave back at some time (`given_back`) not at all. What an
    item wanted then follows from the answers before; those of the same instant may have come before or after.
    """
    answered = {answer.assignment_id: answer for answer in history.answers}
    leases: dict[int, list[tuple[Any, Any]]] = {item.item_id: [] for item in history.items}
    for lease in history.assignments:
        if lease.assignment_id not in given_back:
            answer = answered.get(lease.assignment_id)
            end = lease.expires_at if answer is None or answer.late else answer.answered_at
            leases[lease.item_id].append((lease.leased_at, end))
    times: dict[int, list[Any]] = {item.item_id: [] for item in history.items}
    for answer in history.answers:
        times[answer.item_id].append(answer.answered_at)
    found = []
    for item_id, spans in leases.items():
        for moment, _ in spans:
            out = sum(start <= moment < end for start, end in spans)
            before = sum(time < moment for time in times[item_id])
            by_then = sum(time <= moment for time in times[item_id])
            if out > max(wanted[item_id][before : by_then + 1]):
                found.append(f"item {item_id}: {out} out at {moment}")
    return found
