"""Say why a request gets no assignment: `wait` if time may change that, `stop` if there will be no more work."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.audit_sample import Audit
from app.domain.job import Job
from app.domain.money import amount_text
from app.domain.work import NextWork, WorkRequest
from app.domain.worker import UNKNOWN_WORKER, Worker
from app.policy.core.decision import Reason
from app.policy.quality.audit import AuditState
from app.store.assignments import next_expiry
from app.store.audits import who_may_audit
from app.store.end_of_money import with_end_of_money
from app.store.operations import pending_verdicts
from app.store.queue import who_finds_open, who_finds_room, who_finds_unsettled
from app.use_cases.jobs.job_state import money_is_spent
from app.use_cases.work.named_workers import load_named_workers
from app.use_cases.work.team_without_work import reason_of_team

_LONGEST_WAIT = timedelta(seconds=30)
_SHORT_WAIT = timedelta(seconds=5)


async def while_paused(connection: AsyncConnection, job: Job, requests: Sequence[WorkRequest]) -> list[NextWork]:
    """Build the responses to requests for a paused job: if all its items are closed, resuming changes nothing.

    Except for trusted workers, if there are items that the crowd cannot settle.
    """
    message = "The job is paused. Open assignments can still be answered. Resume the job, or ask again later."
    paused = _wait("job-paused", message, _LONGEST_WAIT)
    is_audited = job.audit is not None and job.audit["state"] == AuditState.RUNNING
    if not job.is_done or is_audited:
        return [paused] * len(requests)
    named = [{name for name in one.workers or (one.worker,) if name is not None} for one in requests]
    may_settle: set[str | None] = set()
    if job.given_up:
        known = await load_named_workers(connection, job, set().union(*named))
        trusted = {name for name, worker in known.items() if worker.trusted and worker.block is None}
        may_settle = await who_finds_unsettled(connection, job.job_id, dict.fromkeys(trusted, Decimal(0)), None)
    return [paused if names & may_settle else _all_resolved(job) for names in named]


@dataclass(frozen=True)
class NoWork:
    """Explains to the workers of a batch why they got no assignment."""

    job: Job
    workers: Mapping[str, Worker]
    busy: AbstractSet[str]  # workers who could be chosen but hold the most assignments allowed
    queue_is_empty: bool
    now: datetime
    audit: Audit | None = None  # the running audit, if a trusted worker asks

    async def explain(self, connection: AsyncConnection, requests: Sequence[WorkRequest]) -> list[NextWork]:
        """Build the response to each of these requests, none of which got an assignment."""
        workers = {name for one in requests for name in one.workers or (one.worker,)}
        by_worker = await self._by_worker(connection, workers)
        by_worker |= await self._by_unsettled(connection, by_worker)
        by_worker |= await self._by_auditor(connection, by_worker)
        by_worker |= await self._by_pending_verdicts(connection, by_worker)
        return [self._response(request, by_worker) for request in requests]

    def _response(self, request: WorkRequest, by_worker: Mapping[str | None, NextWork]) -> NextWork:
        """Return the response to a worker, or to several by what each of them would be told."""
        if request.workers is None:
            return by_worker[request.worker]
        if not request.workers:
            if not self.job.open:
                return by_worker[None]
            message = "No worker is registered for this job. Register workers, or list available ones in `workers`."
            return _wait("no-workers", message, _SHORT_WAIT)
        return reason_of_team([by_worker[name] for name in request.workers], _money_left(self.job))

    async def _by_worker(
        self, connection: AsyncConnection, workers: AbstractSet[str | None]
    ) -> dict[str | None, NextWork]:
        job, found = self.job, dict[str | None, NextWork]()
        for name in workers:
            worker = self._known(name)
            if worker.block is not None:
                why = worker.block["reason"]["message"].rstrip(".")
                message = f"Worker {name!r} is blocked: {why}. Ask other workers."
                found[name] = NextWork("stop", Reason("worker-blocked", message))
        rest = workers - found.keys()
        if not job.items:
            return found | dict.fromkeys(rest, _wait("no-items", "The job has no items yet. Add items.", _SHORT_WAIT))
        if not job.open:
            return found | dict.fromkeys(rest, _all_resolved(job))
        experts = {name for name in rest if self._known(name).trusted and job.engine.requirement.refers_doubt}
        if experts:
            found |= await self._why_no_doubt(connection, experts)
        return found | await self._why_no_item(connection, rest - experts)

    async def _why_no_doubt(
        self, connection: AsyncConnection, experts: AbstractSet[str | None]
    ) -> dict[str | None, NextWork]:
        """For trusted workers where the crowd comes first: open items may come to them as soon as it is done."""
        job, money = await with_end_of_money(connection, self.job), self._money_that_may_return()
        expiry = await next_expiry(connection, job.job_id)
        message = "The crowd is asked first. Ask again when it has left an item in doubt."
        waits = _wait("crowd-first", message, _SHORT_WAIT if expiry is None else expiry - self.now)
        found: dict[str | None, NextWork] = {}
        for name in experts:
            worker = self._known(name)
            unpaid = job.out_of_money or (money is not None and job.least_cost * worker.price > money)
            found[name] = _too_expensive(job, worker, "an item in doubt") if unpaid else waits
        return found

    async def _by_auditor(
        self, connection: AsyncConnection, by_worker: Mapping[str | None, NextWork]
    ) -> dict[str | None, NextWork]:
        """For trusted workers who would be told to stop: items of the audit may come back from others."""
        trusted = self._stopped_and_trusted(by_worker)
        if self.audit is None or not trusted:
            return {}
        waiting = await who_may_audit(connection, self.job.job_id, self.audit.audit_id, trusted)
        expiry = await next_expiry(connection, self.job.job_id)
        message = "Other workers check the remaining items of the audit. Ask again when some have answered."
        found: dict[str | None, NextWork] = {}
        for name in waiting:
            money, cheapest = self._money_that_may_return(), self.job.least_cost * self._known(name).price
            if expiry is None or (money is not None and cheapest > money):
                found[name] = _too_expensive(self.job, self._known(name), "an item of the audit")
            else:
                found[name] = _wait("audit-leased", message, expiry - self.now)
        return found

    async def _by_unsettled(
        self, connection: AsyncConnection, by_worker: Mapping[str | None, NextWork]
    ) -> dict[str | None, NextWork]:
        """For trusted workers who would be told to stop: unsettled items may come back from others."""
        prices: dict[str | None, Decimal] = {
            name: self._known(name).price for name in self._stopped_and_trusted(by_worker)
        }
        if not self.job.given_up or not prices:
            return {}
        able = await who_finds_unsettled(connection, self.job.job_id, prices, None)
        payable = await who_finds_unsettled(
            connection, self.job.job_id, _of(prices, able), self._money_that_may_return()
        )
        what = "an item that the crowd cannot settle"
        found = {name: _too_expensive(self.job, self._known(name), what) for name in able - payable}
        expiry = await next_expiry(connection, self.job.job_id) if payable else None
        if expiry is None:
            return found
        message = (
            "Others hold the items that the crowd cannot settle, or their money. Ask again when some have answered."
        )
        return found | dict.fromkeys(payable, _wait("unsettled-leased", message, expiry - self.now))

    def _stopped_and_trusted(self, by_worker: Mapping[str | None, NextWork]) -> set[str]:
        stopped = {name for name, one in by_worker.items() if name is not None and one.status == "stop"}
        return {name for name in stopped if self._known(name).trusted and self._known(name).block is None}

    async def _by_pending_verdicts(
        self, connection: AsyncConnection, by_worker: Mapping[str | None, NextWork]
    ) -> dict[str | None, NextWork]:
        """For workers without an open item: a refit or a recount that is not finished may open one again."""
        final = {"all-resolved", "worker-has-seen-all"}
        stopped = [name for name, one in by_worker.items() if one.reason.code in final]
        if not stopped:
            return {}
        refit, recount = await pending_verdicts(connection, self.job.job_id)
        if recount:
            message = "Votes of a blocked worker are being removed or put back, which may open items again. Ask again."
            return dict.fromkeys(stopped, _wait("recount-running", message, _SHORT_WAIT))
        due = self.job.refit_at is not None and self.job.answers >= self.job.refit_at
        if (refit or due) and self.job.refit_may_reopen:
            message = "A refit judges the items again, and may open some. Ask again when it is done."
            return dict.fromkeys(stopped, _wait("refit-running", message, _SHORT_WAIT))
        return {}

    async def _why_no_item(
        self, connection: AsyncConnection, workers: AbstractSet[str | None]
    ) -> dict[str | None, NextWork]:
        """Say why workers get no open item: none is new to them, the money is short, or others hold all of them."""
        job_id, busy, money = self.job.job_id, workers & self.busy, self._money_that_may_return()
        prices = {name: self._known(name).price for name in workers - busy}
        # The least cost of an item is known: a budget that covers none needs no search for each worker.
        unpaid = {name for name, price in prices.items() if money is not None and self.job.least_cost * price > money}
        able = _of(prices, prices.keys() - unpaid)
        curious = await who_finds_open(connection, job_id, able, None) if able else set()
        found = {name: _seen_all(name) for name in able.keys() - curious}
        payable = curious
        if money is not None and curious:
            payable = await who_finds_open(connection, job_id, _of(prices, curious), money)
        unpaid |= curious - payable
        if unpaid:
            job = await with_end_of_money(connection, self.job)
            found |= {name: _too_expensive(job, self._known(name), "an open item") for name in unpaid}
        away = {name for name in payable if self._known(name).low_information is not None}
        found |= {name: _low_information(name, self._known(name)) for name in away}
        asking = payable - away
        room = set() if self.queue_is_empty else await who_finds_room(connection, job_id, _of(prices, asking), money)
        expiry = await next_expiry(connection, job_id) if asking or busy else None
        until = _SHORT_WAIT if expiry is None else expiry - self.now
        most = self.job.policy.max_assignments_per_worker
        message = f"Every available worker holds {most} assignments, which is the limit. Wait for their answers."
        found |= dict.fromkeys(busy, _wait("workers-busy", message, until))
        message = (
            f"{_money_left(self.job)}, and {amount_text(self.job.reserved)} is reserved for open assignments. "
            "Ask again when some are answered or have expired, or raise `budget`."
        )
        found |= dict.fromkeys(room, _wait("budget-reserved", message, until))
        message = "Every open item is already assigned to enough workers. Ask again when some have answered."
        return found | dict.fromkeys(asking - room, _wait("all-leased", message, until))

    def _money_that_may_return(self) -> Decimal | None:
        """Return what the budget has left if all reserved money returns; None: unlimited."""
        return None if self.job.remaining is None else self.job.remaining + self.job.reserved

    def _known(self, name: str | None) -> Worker:
        return self.workers.get(name or "", UNKNOWN_WORKER)


def _of(prices: Mapping[str | None, Decimal], names: AbstractSet[str | None]) -> dict[str | None, Decimal]:
    return {name: prices[name] for name in names}


def _all_resolved(job: Job) -> NextWork:
    which = "The only item is" if job.items == 1 else f"All {job.items:,} items are"
    return NextWork("stop", Reason("all-resolved", f"{which} resolved or given up. Read the results."))


def _too_expensive(job: Job, worker: Worker, what: str) -> NextWork:
    """Stop a worker whose answers the money does not pay, even if all reserved money returned."""
    if job.out_of_money:
        return NextWork("stop", Reason("budget-exhausted", money_is_spent(job)))
    who = "" if worker.price == 1 else f" of a worker with the price {amount_text(worker.price)}"
    out = f" and {amount_text(job.reserved)} is reserved" if job.reserved else ""
    message = f"{_money_left(job)}{out}, which does not pay for an answer{who} on {what}. Raise `budget`."
    return NextWork("stop", Reason("budget-exhausted", message))


def _money_left(job: Job) -> str:
    left = job.remaining or Decimal(0)
    return f"{amount_text(left)} of the budget of {amount_text(job.budget or left)} is left"


def _low_information(name: str | None, worker: Worker) -> NextWork:
    assert worker.low_information is not None  # noqa: S101  the caller has checked
    why = worker.low_information["reason"]["message"].rstrip(".")
    message = f"Worker {name!r} gets no new work for now. {why}. The next refit decides again."
    return _wait("worker-low-information", message, _LONGEST_WAIT)


def _seen_all(name: str | None) -> NextWork:
    message = "Every open item has been answered."
    if name is not None:
        message = f"Worker {name!r} has answered or skipped every open item. Ask other workers."
    return NextWork("stop", Reason("worker-has-seen-all", message))


def _wait(code: str, message: str, until: timedelta) -> NextWork:
    seconds = ceil(min(until, _LONGEST_WAIT).total_seconds())
    return NextWork("wait", Reason(code, message), retry_after=max(seconds, 1))
