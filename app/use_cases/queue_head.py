"""The best open items, read ahead once for all who ask at the same moment."""

from bisect import insort
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from decimal import Decimal

from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.items import Item, change_in_flight, save_standings
from app.store.jobs import Job
from app.store.queue import Queued, best_open_item, head_of_queue
from app.use_cases.copies_out import thought_over

_MOST = 1024  # items read ahead, with all that a worker needs to see


@dataclass(frozen=True)
class Buyer:
    """Who asks, what they charge, and what may still be promised to them; None is unlimited."""

    worker: str | None
    price: Decimal
    affordable: Decimal | None
    has: Collection[int] = ()  # items; where nobody is named, nothing else tells what they were given a moment ago

    def cost_of(self, item: Item) -> Decimal:
        return item.cost * self.price

    def may_take(self, queued: Queued) -> bool:
        if self.worker in queued.seen_by or queued.item.item_id in self.has:
            return False
        return self.affordable is None or self.cost_of(queued.item) <= self.affordable


class QueueHead:
    """Gives each buyer the item that Postgres would give if they came one by one.

    Items come from the head of the queue, read once for all. Only where none of them suits a buyer, or one has lost its
    place because its allocation heeds what is out, is the queue asked again, for that buyer alone.
    """

    def __init__(self, connection: AsyncConnection, job: Job) -> None:
        self._connection, self._job = connection, job
        self._queue: list[Queued] = []  # those with room, best first
        self._known: set[int] = set()
        self._whole = False  # nothing has room but what is known
        self._horizon = (0.0, 0)  # the rank behind which nothing is known for sure
        self._leased: Counter[int] = Counter()
        self._changed: dict[int, Item] = {}

    async def read_ahead(self, wanted: int) -> None:
        most = min(1 << max(wanted - 1, 0).bit_length(), _MOST)  # few different statements, each prepared once
        self._queue = await head_of_queue(self._connection, self._job.job_id, most=most)
        self._known = {queued.item.item_id for queued in self._queue}
        self._whole = len(self._queue) < most
        if self._queue:
            self._horizon = _rank(self._queue[-1])

    @property
    def is_empty(self) -> bool:
        """No open item has room for another answer, whoever asks."""
        return self._whole and not self._queue

    async def take(self, buyer: Buyer) -> Item | None:
        """The best item for this buyer, now out to one worker more; None where there is none."""
        best = next((queued for queued in self._queue if buyer.may_take(queued)), None)
        if not self._whole and (best is None or _rank(best) > self._horizon):
            best = await self._look_further(buyer, best)
        if best is None:
            return None
        self._lease(best, buyer)
        return best.item

    async def write_back(self) -> None:
        if self._changed:
            await save_standings(self._connection, self._job.job_id, list(self._changed.values()))
        else:
            await change_in_flight(self._connection, self._job.job_id, self._leased)

    async def _look_further(self, buyer: Buyer, best: Queued | None) -> Queued | None:
        """Behind what was read ahead there may be a better one."""
        found = await best_open_item(
            self._connection,
            self._job.job_id,
            worker=buyer.worker,
            price=buyer.price,
            affordable=buyer.affordable,
            besides=self._known,
        )
        if found is None:
            return best
        self._known.add(found.item.item_id)
        insort(self._queue, found, key=_rank)
        return found if best is None or _rank(found) < _rank(best) else best

    def _lease(self, queued: Queued, buyer: Buyer) -> None:
        self._queue.remove(queued)
        item = replace(queued.item, in_flight=queued.item.in_flight + 1)
        self._leased[item.item_id] += 1
        if self._job.rules.allocation.heeds_in_flight:
            (item,) = thought_over(self._job, [item])
            self._changed[item.item_id] = item
        if item.in_flight < item.standing.wanted:
            seen_by = queued.seen_by if buyer.worker is None else queued.seen_by | {buyer.worker}
            insort(self._queue, Queued(item, seen_by), key=_rank)


def _rank(queued: Queued) -> tuple[float, int]:
    """The smallest goes first."""
    return -queued.item.standing.priority, queued.item.tie_break
