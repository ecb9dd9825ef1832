"""For any requests in any order, the service does the same as a simple model of its promises.

`SUFFICE_STEPS` says how many steps to take in all; each is one request or a few at once, and a look at the job.
"""

import copy
import os
from decimal import Decimal
from itertools import permutations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.promises.calls import AddItems, Answers, Ask, Call, Change, Pause, Register
from tests.promises.in_process import InProcess, in_process
from tests.promises.invariants import broken_invariants
from tests.promises.model import Model
from tests.promises.terms import EVERY_KIND, Terms

STEPS = int(os.environ.get("SUFFICE_STEPS", "600"))
STEPS_PER_RUN = 60

REQUIREMENTS = st.one_of(
    st.builds(lambda labels: {"kind": "count", "labels": labels}, st.integers(1, 4)),
    st.builds(lambda ratio: {"kind": "ratio", "min_ratio": ratio}, st.sampled_from([1.5, 2, 3, 4])),
    st.builds(
        lambda c, epsilon: {"kind": "margin", "c": c, "epsilon": epsilon},
        st.sampled_from([0.5, 1, 1.5]),
        st.sampled_from([0.1, 0.5]),
    ),
)
BUDGETS = st.sampled_from(["30", None, "12.35", "60", "5", None, "30", "1.1", "0"])
COSTS = st.sampled_from(["1", "0.25", "2.5", "0.1"])
PRICES = st.sampled_from(["1", "0.5", "3", "0.001", "0"])
WORKERS = st.sampled_from([f"w{n}" for n in range(1, 7)])
LABELS = st.sampled_from([0, 0, 0, 1, 2])  # workers agree more often than not
PLACE = st.integers(0, 99)  # in a list, from its beginning again where it is shorter


@st.composite
def terms(draw: st.DrawFn) -> Terms:
    """Rules whose limits leave room for a unanimous item, some of them just so."""
    kind = draw(st.sampled_from(EVERY_KIND))
    policy = kind(
        labels=() if kind.field == "value" else ("cat", "dog", "cow", "ant")[: draw(st.integers(2, 4))],
        requirement=draw(REQUIREMENTS.filter(lambda one: one["kind"] in kind.requirements)),
        budget=None if (budget := draw(BUDGETS)) is None else Decimal(budget),
        lease_seconds=draw(st.sampled_from([10, 60])),
        min_labels=draw(st.integers(1, 3)),
    )
    fewest = policy.shortfall(policy.no_votes)
    limits = st.none() | st.integers(fewest, fewest + 3)
    return kind(**vars(policy) | {"max_labels": draw(limits), "max_votes_per_label": draw(limits)})


ITEM = st.builds(
    lambda number, cost: {"key": f"i{number}", "cost": cost, "payload": {"page": 1}}, st.integers(1, 40), COSTS
)
ITEMS = st.lists(ITEM, min_size=1, max_size=8, unique_by=lambda row: row["key"])
FIRST_ITEMS = st.lists(ITEM, min_size=6, max_size=20, unique_by=lambda row: row["key"])
DRAFT = st.tuples(st.integers(0, 7), PLACE, PLACE, st.integers(0, 9))
VERBS = st.sampled_from(["extend", "release", "skip"])
WEIGHTED_MOVES = [
    (4, "work", {"worker": WORKERS, "labels": st.lists(LABELS, min_size=1, max_size=4)}),
    (1, "add_items", {"rows": ITEMS}),
    (1, "add_items_again", {"place": PLACE, "twice": st.booleans(), "other": st.booleans()}),
    (3, "ask", {"worker": st.none() | WORKERS, "count": st.integers(1, 5)}),
    (3, "answer_what_is_held", {"place": PLACE, "label": LABELS}),
    (2, "answer", {"draft": DRAFT}),
    (2, "answer_in_bulk", {"drafts": st.lists(DRAFT, min_size=1, max_size=6)}),
    (1, "answer_again", {"place": PLACE, "other": st.booleans(), "bulk": st.booleans()}),
    (2, "turn_down", {"worker": WORKERS, "verb": st.sampled_from(["release", "skip"])}),
    (2, "change", {"verb": VERBS, "place": PLACE, "seconds": st.sampled_from([None, 5, 100])}),
    (
        4,
        "do_at_once",
        {
            "asks": st.lists(st.tuples(st.none() | WORKERS, st.integers(1, 3)), min_size=1, max_size=2),
            "drafts": st.lists(DRAFT, max_size=2),
            "changes": st.lists(st.tuples(VERBS, PLACE, st.none()), max_size=1),
        },
    ),
    (2, "let_time_pass", {"seconds": st.sampled_from([1, 4, 5, 10, 59, 60, 101]), "swept": st.booleans()}),
    (1, "pause", {"worker": WORKERS, "place": PLACE, "for_long": st.sampled_from([False] * 7 + [True])}),
    (1, "resume", {}),
    (1, "set_prices", {"prices": st.dictionaries(WORKERS, PRICES, min_size=1)}),
    (1, "read_everything", {}),
]
MOVES = st.sampled_from([move for weight, *move in WEIGHTED_MOVES for _ in range(weight)]).flatmap(
    lambda move: st.tuples(st.just(move[0]), st.fixed_dictionaries(move[1]))
)


class Promises(RuleBasedStateMachine):
    """One rule with many moves, so that each comes about as often as its weight says.

    It has no precondition: which of two simultaneous requests is first is random, and no drawn value may depend on it.
    """

    service: InProcess
    clock: object
    in_order = False

    @initialize(policy=terms(), place=PLACE, seed=st.integers(0, 9), rows=FIRST_ITEMS | st.just([]))
    def create(self, policy: Terms, place: int, seed: int, rows: list[dict]) -> None:
        body = policy.body | {"allocation": {"kind": self._one_of(policy.allocations, place)}, "seed": seed}
        created = self.service.post("/v1/jobs", body)
        assert created.status_code == 201, created.text
        self.path = created.headers["Location"]
        self.model = Model(policy, self.clock.now)
        if rows:
            self.do(AddItems(rows))

    @rule(move=MOVES)
    def step(self, move):
        name, arguments = move
        self.in_order = False
        getattr(self, name)(**arguments)
        self.in_order = True

    @invariant()
    def the_job_says_what_the_model_says(self):
        self.model.check_status(self.service.get(self.path))

    def do(self, call: Call) -> None:
        self.model.check(call, self.service.post(self.path + call.path, call.body))

    def add_items(self, rows):
        self.do(AddItems(rows))

    def add_items_again(self, place, twice, other):
        if not self.model.items:
            return
        item = self._one_of(list(self.model.items.values()), place)
        known = {"key": item.key, "payload": item.payload, "cost": str(item.cost)}
        changed = known | {"payload": {"page": 2}} if other else known
        self.do(AddItems([known, changed, {**known, "key": "new"}] if twice else [changed]))

    def set_prices(self, prices):
        self.do(Register(prices))

    def ask(self, worker, count):
        self._ask_for_the_best(Ask(worker, count))

    def work(self, worker, labels):
        """Ask for so many, and answer them."""
        self._ask_for_the_best(Ask(worker, len(labels)))
        held = [lease.number for lease in self.model.live() if lease.worker == worker]
        for number, label in zip(held, labels, strict=False):
            self.do(Answers([{"assignment": number} | self.model.terms.sent(label)], bulk=False))

    def answer_what_is_held(self, place, label):
        if not self.model.live():
            self.do(Ask(f"w{place % 6 + 1}", 1))
        if not self.model.live():
            return
        lease = self._one_of(self.model.live(), place)
        self.do(Answers([{"assignment": lease.number} | self.model.terms.sent(label)], bulk=False))

    def answer(self, draft):
        self.do(self._answers([draft], bulk=False))

    def answer_in_bulk(self, drafts):
        self.do(self._answers(drafts, bulk=True))

    def answer_again(self, place, other, bulk):
        if not self.model.answers:
            return
        who, given = self._one_of(list(self.model.answers.items()), place)
        of_terms = self.model.terms
        every = [of_terms.sent(number) for number in range(5)]
        again = next(one for one in every if (of_terms.content(one) != given.content) == other)
        sent = {"assignment": who} if isinstance(who, str) else {"item": who[0], "worker": who[1]}
        self.do(Answers([sent | again], bulk=bulk))

    def turn_down(self, worker, verb):
        """Give back whatever comes, and ask again."""
        self.do(Ask(worker, 3))
        for lease in [lease for lease in self.model.live() if lease.worker == worker]:
            self.do(Change(verb, lease.number))
        self.do(Ask(worker, 3))

    def change(self, verb, place, seconds):
        self.do(self._change(verb, place, seconds))

    def do_at_once(self, asks, drafts, changes):
        """Requests that come together are answered as if they had come in some order, one by one."""
        calls = [Ask(*ask) for ask in asks] + [self._answers([draft], bulk=False) for draft in drafts]
        calls = (calls + [self._change(*change) for change in changes])[:4]
        replies = self.service.post_at_once([(self.path + call.path, call.body) for call in calls])
        status = self.service.get(self.path)
        broken = None
        for order in permutations(zip(calls, replies, strict=True)):
            model = copy.deepcopy(self.model)
            try:
                for call, reply in order:
                    model.check(call, reply)
                model.check_status(status)
            except AssertionError as error:
                broken = broken or error
            else:
                self.model = model
                return
        said = [(call, reply.status_code, reply.text) for call, reply in zip(calls, replies, strict=True)]
        pytest.fail(f"no order explains {said}; in the first one: {broken}")

    def let_time_pass(self, seconds, swept):
        self.clock.advance(seconds)
        self.model.pass_time(self.clock.now)
        if swept:
            self.service.sweep(self.clock.now)

    def pause(self, worker, place, for_long):
        """Nothing is given while a job is paused, and answers are taken."""
        self.do(Pause(paused=True))
        self.do(Ask(worker, 1))
        self.do(self._answers([(4, place, place, 0)], bulk=False))
        if not for_long:
            self.do(Pause(paused=False))

    def resume(self):
        self.do(Pause(paused=False))

    def read_everything(self):
        self.model.check_items(self._items())
        self.model.check_assignments(self.service.get(f"{self.path}/assignments", limit=1000)["assignments"])
        self.model.check_results(self.service.get(f"{self.path}/results", limit=1000)["results"])

    def teardown(self) -> None:
        if not self.in_order:
            return  # what went wrong is being told
        self.read_everything()
        job = self.path.rpartition("/")[2]
        broken = self.service.run(broken_invariants(self.service.app.state.services.database, job))
        assert broken == {}

    def _ask_for_the_best(self, call: Ask) -> None:
        """Beside what the model knows: each new lease is on the item of the highest priority that was to be had."""
        priority = {one["key"]: one["priority"] for one in self._items()}
        up_to_date = not self.model.not_yet_returned
        before = copy.deepcopy(self.model)
        reply = self.service.post(self.path + call.path, call.body)
        self.model.check(call, reply)
        if not up_to_date:
            return
        held = {lease.number for lease in before.live()}
        for one in [one for one in reply.json()["assignments"] if one["id"] not in held]:
            best = max(priority[item.key] for item in before.affordable(call.worker))
            assert one["why"]["priority"] == priority[one["item"]] == best
            before.give(one, call.worker)
            if call.worker is None:
                break  # the model does not know that the next must be another item

    def _items(self) -> list[dict]:
        return self.service.get(f"{self.path}/items", limit=1000)["items"]

    def _answers(self, drafts, *, bulk: bool) -> Answers:
        return Answers([self._submission(*draft) for draft in drafts], bulk=bulk)

    def _submission(self, kind: int, first: int, second: int, label: int) -> dict:
        """Mostly what makes sense; sometimes what nobody knows, or names that do not belong together."""
        of_terms = self.model.terms
        sent = {8: of_terms.of_another_kind, 9: of_terms.unknown}.get(label) or of_terms.sent(label % 5)
        leases, keys = list(self.model.leases), [*self.model.items, "nothing"]
        if kind < 4 or not leases:
            return sent | {"item": self._one_of(keys, first), "worker": f"w{second % 6 + 1}"}
        if kind == 4:
            return sent | {"assignment": self._one_of([*leases, "99999", "no number"], first)}
        lease = self.model.leases[self._one_of(leases, first)]
        worker = {} if lease.worker is None or kind == 5 else {"worker": lease.worker if second % 3 else "w1"}
        return sent | {"assignment": lease.number, "item": lease.item if second % 5 else "nothing"} | worker

    def _change(self, verb: str, place: int, seconds: int | None) -> Change:
        numbers = [*self.model.leases, *(["99999"] if place % 7 == 0 or not self.model.leases else [])]
        return Change(verb, self._one_of(numbers[::-1], place), seconds if verb == "extend" else None)

    @staticmethod
    def _one_of(choices, place: int):
        return choices[place % len(choices)]


def test_the_service_keeps_its_promises_step_by_step(database_url, clock):
    """Money, leases, states, refusals and reasons are the model's, whatever happens in whatever order."""
    with in_process(database_url, clock) as service:
        machine = type("Machine", (Promises,), {"service": service, "clock": clock})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=max(1, STEPS // STEPS_PER_RUN),
                stateful_step_count=STEPS_PER_RUN,
                derandomize=True,
                database=None,
                deadline=None,
                phases=[Phase.generate],  # to shrink takes minutes, and what is done at once need not fail again
                suppress_health_check=list(HealthCheck),
            ),
        )
