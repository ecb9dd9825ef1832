"""Whom to ask: whoever comes, the worker with the best record, or the best pair of item and worker."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from app.domain import Reason
from app.policy.belief import Array, Facts, IntArray, Mask
from app.policy.chance import scramble, uniform
from app.policy.member import Member
from app.policy.rounding import significant
from app.policy.workers.base import WorkerModel

SHORTLIST = 32  # items that are valued for the worker who asks; `bench/shortlist.py` measures what that misses
_NOTHING = 1e-4  # of what the best is worth
_FREE = 1e-9  # a price to divide by where there is none
TRIAL_LIFT = 20.0  # how much more an answer is worth by which workers are told apart
_TRIAL = 0.1  # of the items, where there is money for it
_TRIAL_MONEY = 0.1  # of what the budget buys, for further answers there
_OTHERS = np.array([3])  # sets the chances of asking others apart from those of gold
_ENOUGH_OTHERS = 10  # workers who are left, without whom nobody is turned away
_MOST_AWAY = 0.2  # of the workers: a larger camp may be right
_NEW = 2.0  # the index of a worker of whom nothing is known; no index is higher


@dataclass(frozen=True)
class Team:
    """Workers of whom one is to be asked; row w of every array is worker w."""

    agreed: Array  # (workers,) answers that agree with what was decided
    decided: Array  # (workers,) answers that could be held to a decision
    price: Array  # (workers,) what an answer costs, in units of the item's cost
    number: IntArray  # (workers,) what chance hangs on
    best: Array  # (workers,) what the best open item for this worker is worth per cost; -inf where there is none
    trust: Array  # (workers,) how often each is believed to be right

    @classmethod
    def offered(
        cls, *, agreed: Array, decided: Array, price: Array, number: IntArray, worth: Array, trust: Array
    ) -> "Team":
        """Workers with an item each, on which an answer has this worth per cost of the item, whatever they charge.

        >>> one, zero = np.ones(2), np.zeros(2)
        >>> records = {"agreed": zero, "decided": zero, "number": np.arange(2), "trust": one}
        >>> Team.offered(price=np.array([2.0, 0.5]), worth=one, **records).best
        array([0.5, 2. ])
        """
        return cls(agreed, decided, price, number, best=worth / np.maximum(price, _FREE), trust=trust)


class WorkerChoice(Member, ABC):
    """Whom to ask."""

    chooses: ClassVar[bool] = True  # a worker can be found for whoever does not name one
    compares_offers: ClassVar[bool] = False  # what the best item for each worker is worth plays a part

    def hoped(self, model: WorkerModel, skill: Array) -> Array:  # noqa: ARG002  most take workers as they are known
        """The skills by which answers are valued when a worker is chosen, shape (workers, parameters)."""
        return skill

    @property
    def heeds_number(self) -> bool:
        """Which item it is can play a part in when it is asked."""
        return False

    def trial_share(self, paid_for: Array | float) -> Array | float:  # noqa: ARG002  most know nobody better for it
        """The share of the items on trial, where the whole budget buys so many answers on each, inf: unlimited."""
        return 0.0

    def on_trial(self, facts: Facts, answers: Array, paid_for: Array) -> Mask | None:  # noqa: ARG002  same
        """Which items are asked before all others, by how many answers they have, shape (items,); None: none."""
        return None

    def asks_others(self, seed: int, turn: IntArray, items: int) -> Mask:  # noqa: ARG002  most trust their own index
        """Whether the lot of each of these turns, in a job of so many items, falls on people who are less trusted."""
        return np.zeros(len(turn), dtype=bool)

    @property
    def turns_away(self) -> bool:
        """Whether those who come may be told that they are not needed."""
        return False

    def turned_away(self, worth: Array, answers: Array | IntArray) -> Mask:  # noqa: ARG002  most ask only whom they want
        """Who is not wanted any more, of workers of so many answers and this `relative_worth`, shape (*, workers)."""
        return np.zeros(worth.shape, dtype=bool)

    @abstractmethod
    def merit(self, team: Team) -> Array:
        """How much each worker is wanted, shape (workers,); nobody is wanted for whom there is no item."""

    def choose_from(self, team: Team, seed: int, turn: int, items: int) -> int | None:
        """The position of the worker to ask; ties are drawn by the seed, anew with every turn."""
        merit = np.where(np.isneginf(team.best), -np.inf, significant(self.merit(team)))
        if not merit.size or np.isneginf(merit.max()):
            return None
        lot = scramble(seed, team.number, np.full_like(team.number, turn))
        best = int(_drawn_from_the_best(merit, lot))
        if not self.asks_others(seed, np.array([turn]), items)[0]:
            return best
        affordable = np.where(team.price <= team.price[best], team.best, -np.inf)
        return int(_drawn_from_the_best(np.where(less_trusted(affordable, team.trust), 0.0, -np.inf), lot))


class Pull(WorkerChoice):
    """Nobody is chosen: who comes gets the item with the highest priority; of several, the first named is asked.

        the first of those who are there, but w is turned away if  n_w >= min_answers  and
        hoped_w / price_w < least_worth * sum over v of n_v told_v / sum over v of n_v price_v.

    Workers come as they like, as on most platforms (Li et al., WSDM 2016). But an answer that tells nothing is not
    worth its price while others come whose answers do: on RTE four people who guess gave more than a third of all
    answers. What an answer of w would tell of a fresh item, told_w, is the information that `information` goes by,
    under the skill of the last fit, so liars, whose answers tell as much the other way round, are welcome; hoped_w is
    the same with an accuracy that differs by 1 / (2 sqrt(n_w)), a standard error of a coin, to where it tells more.
    Every fit decides anew. At most a fifth of the workers are turned away, those who tell least, lest a camp that
    agrees with itself silence the others; and nobody unless ten others have answered: what few tell is all there is.

    >>> worth, answers = np.array([1.1] * 10 + [0.01]), np.full(11, 30)
    >>> np.flatnonzero(Pull().turned_away(worth, answers)).tolist()
    [10]
    >>> np.flatnonzero(Pull().turned_away(worth[1:], answers[1:])).tolist()  # nine others are too few
    []
    """

    kind: Literal["pull"] = "pull"
    chooses: ClassVar[bool] = False
    least_worth: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="Who tells less than this share of what the job's answers tell on average for the same money, "
            "even with the benefit of the doubt, gets nothing new while others come; 0: everybody is served",
        ),
    ] = 0.5
    min_answers: Annotated[
        int, Field(ge=1, le=10_000, description="Answers that a worker has given before being turned away")
    ] = 20

    @property
    def turns_away(self) -> bool:
        return self.least_worth > 0

    def turned_away(self, worth: Array, answers: Array | IntArray) -> Mask:
        away = (answers >= self.min_answers) & (worth < self.least_worth)
        heard = np.count_nonzero(answers > 0, axis=-1, keepdims=True)
        place = np.where(away, worth, np.inf).argsort(axis=-1, kind="stable").argsort(axis=-1)  # 0: tells least
        away &= place < _MOST_AWAY * heard
        return np.asarray(away & (heard - np.count_nonzero(away, axis=-1, keepdims=True) >= _ENOUGH_OTHERS))

    def merit(self, team: Team) -> Array:
        return -np.arange(len(team.price), dtype=np.float64)


class UpperConfidence(WorkerChoice):
    """The worker with the highest index (Abraham et al., SIGIR 2016, section 7), by value per cost.

        index = t+ / t + 1 / sqrt(t),    promise = max(2 index - 1, 0)^2 / price.

    t counts the worker's answers on items already decided, t+ those that agree with the decision. A new worker has
    the index 2, which a worker with 1 of 1 shares; ties are drawn by the job's seed, anew with every turn: an index
    that nothing moves, for no item is ever decided by others, must not give everything to one.

    >>> UpperConfidence().index(np.array([0.0, 1.0, 3.0, 0.0]), np.array([0.0, 1.0, 4.0, 1.0])).tolist()
    [2.0, 2.0, 1.25, 1.0]
    """

    kind: Literal["ucb"] = "ucb"

    def index(self, agreed: Array, decided: Array) -> Array:
        """t+/t + 1/sqrt(t) with t+ = `agreed`, t = `decided`, shape (workers,)."""
        t = np.maximum(decided, 1.0)
        return np.where(decided > 0, agreed / t + 1 / np.sqrt(t), _NEW)

    def merit(self, team: Team) -> Array:
        return self.promise(team.agreed, team.decided, team.price)

    def promise(self, agreed: Array, decided: Array, price: Array) -> Array:
        """The index as value per cost: max(2 index - 1, 0)^2 / price, shape (workers,).

        An answer of a worker who is right with p tells in proportion to (2 p - 1)^2, near enough. At equal prices the
        order is the paper's, but for workers below one half, who share the last place. Free is taken as 1e-9.

        >>> UpperConfidence().promise(np.array([0.0, 3.0]), np.array([0.0, 4.0]), np.array([2.0, 0.5])).tolist()
        [4.5, 4.5]
        """
        return np.asarray(np.maximum(2 * self.index(agreed, decided) - 1, 0.0) ** 2 / np.maximum(price, _FREE))

    def choose(self, agreed: Array, decided: Array, numbers: IntArray, seed: int, turn: int = 0) -> int:
        """The position of the worker to ask where all cost the same."""
        index = significant(self.index(agreed, decided))
        return int(_drawn_from_the_best(index, scramble(seed, numbers, np.full_like(numbers, turn))))


class Pair(WorkerChoice):
    """The pair of item and worker with the highest value per cost (Chen et al., ICML 2013, section 4).

        argmax over (i, w) of  value(i after an answer of w) / (cost_i price_w),    accuracy_w + optimism / sqrt(n_w).

    The value is the allocation's, after an answer of a worker with that skill, on the best item for that worker; the
    cost is the item's times the worker's price.

    Where every item has one answer, nobody can be told from anybody, and all first answers were left to luck. So a few
    items, drawn by the seed, are a trial: until they have three answers each, an answer on them is valued 20 times as
    high, so that they come first, but not at any price. Who agrees there is asked more, and the first answers on all
    other items come from better workers. Unless the job says how many, a tenth of the items are on trial, or fewer, so
    that their second and third answers take no more than a tenth of what the budget buys at a worker's price of 1: with
    money for one answer per item, a twentieth.

    To agree is not to be right: those who repeat one source agree always, and whoever trusts them asks nobody else any
    more, and never finds out. So, once there are as many answers as items, one in five is asked of somebody drawn by
    lot from the less trusted half, who charges no more than the one who would have been asked. Their answers count for
    what they are worth, so little is lost where the trust was justified; where it was not, `auto` has what it needs to
    tell (docs/policy.md).

    >>> none = np.zeros(3)
    >>> offer = {"worth": np.array([0.1, 0.4, 0.3]), "price": np.array([1.0, 10.0, 1.0]), "trust": np.full(3, 0.8)}
    >>> team = Team.offered(agreed=none, decided=none, number=np.arange(3), **offer)
    >>> Pair().choose_from(team, seed=1, turn=1, items=10)
    2
    """

    kind: Literal["pair"] = "pair"
    compares_offers: ClassVar[bool] = True
    optimism: Annotated[
        float,
        Field(ge=0, le=10, description="Accuracy is taken to be higher by this / sqrt(answers): 0 explores nobody"),
    ] = 0.1
    trial: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None,
        Field(
            description="The share of the items that are asked first, to tell workers apart; "
            "null: a tenth, or less where the budget buys fewer than two answers per item"
        ),
    ] = None
    trial_answers: Annotated[int, Field(ge=1, le=100, description="Answers until which each of those comes first")] = 3
    second_opinions: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="The share of the answers, once there are as many as items, that are asked of people who are "
            "less trusted, lest those who merely agree with each other be believed: 0 asks the best alone",
        ),
    ] = 0.2

    def hoped(self, model: WorkerModel, skill: Array) -> Array:
        return model.optimistic(skill, self.optimism)

    @property
    def heeds_number(self) -> bool:
        return self.trial != 0

    def trial_share(self, paid_for: Array | float) -> Array | float:
        """What the job says, or as above.

        >>> Pair().trial_share(np.array([0.0, 1.0, 1.5, 2.0, np.inf])).round(6).tolist()
        [0.0, 0.05, 0.075, 0.1, 0.1]
        """
        if self.trial is not None:
            return self.trial
        further = max(self.trial_answers - 1, 1)
        return np.minimum(_TRIAL_MONEY * np.asarray(paid_for) / further, _TRIAL)

    def on_trial(self, facts: Facts, answers: Array, paid_for: Array) -> Mask | None:
        if self.trial == 0:
            return None
        drawn = uniform(facts.seed, facts.number) < self.trial_share(paid_for)
        return np.asarray(drawn & (answers < self.trial_answers))

    def asks_others(self, seed: int, turn: IntArray, items: int) -> Mask:
        return np.asarray((turn > items) & (uniform(seed, turn, _OTHERS) < self.second_opinions))

    def merit(self, team: Team) -> Array:
        return team.best


AS_PUBLISHED = Pair(optimism=0, trial=0, second_opinions=0)  # the best pair and nothing else, as the paper has it


def less_trusted(best: Array, trust: Array) -> Mask:
    """The less trusted half of those who can be asked, shape (workers,); -inf is the best of those who cannot.

    Whose answers tell nothing at all, as those of spammers that do not count, are not asked for.

    >>> less_trusted(np.array([0.3, 0.2, 0.1, -np.inf]), np.array([0.9, 0.8, 0.6, 0.5])).tolist()
    [False, True, True, False]
    """
    highest = best.max(initial=-np.inf)
    nothing = _NOTHING * highest if highest > 0 else -np.inf  # a place in line is no gain, and may be negative
    free = best > nothing
    return np.asarray(free & (trust <= np.median(trust[free]))) if free.any() else free


def relative_worth(hoped: Array, told: Array, price: Array, answers: Array | IntArray) -> Array:
    """What an answer of each worker may tell per cost, where the average of the answers so far is 1; (*, workers).

    `told` is what one is expected to tell of a fresh item, `hoped` with the benefit of the doubt, `answers` how many
    each has given.

    >>> half = np.array([0.3, 0.1])
    >>> relative_worth(half, half, np.array([1.0, 0.5]), np.array([10, 10])).round(6).tolist()
    [1.125, 0.75]
    """
    paid = np.maximum(price, _FREE)
    bought, spent = ((answers * each).sum(axis=-1, keepdims=True) for each in (told, paid))
    return np.asarray(np.divide(hoped / paid * spent, bought, out=np.ones_like(hoped), where=bought > 0))


def too_little(worth: float, answers: int) -> Reason:
    """Why a worker of so many answers and this `relative_worth` is turned away.

    >>> print(too_little(0.013, 57).message)
    by 57 answers so far, another one tells at best 0.013 times what one tells on average for the same money: too little
    """
    told = f"another one tells at best {worth:.2g} times what one tells on average for the same money"
    return Reason("tells-too-little", f"by {answers} answers so far, {told}: too little")


def _drawn_from_the_best(value: Array, lot: npt.NDArray[np.uint64]) -> np.intp:
    """The position of the highest value; among equals, of the smallest lot."""
    best = np.flatnonzero(value == value.max())
    return np.intp(best[lot[best].argmin()])


AnyWorkerChoice = Annotated[Pull | UpperConfidence | Pair, Field(discriminator="kind")]
