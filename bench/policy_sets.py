"""Compare the default policy with the published ones, on public sets and synthetic crowds, with and without stops.

Accuracies are means of seeds with the half-width of a 95 % interval (Student's t); ties count their share. The last
line of a table is the paired difference between `information` and the published policy that is best on average over
the budgets. Seeds see orders of arrival of their own: `--draw` takes others. Names limit it to those public sets or
synthetic crowds; `--choose` lets policies pick workers; `--stopping` asks how many labels a job with a requirement
needs instead; `--known` shows what the best workers of every item would give if all skills were known.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from app.experiments.cost_error_curves import mean_of_runs
from app.policy.aggregation import ByModel, Majority
from app.policy.core.ballots import Ballots
from app.policy.job_policy import JobPolicy
from app.simulation.crowd_generator import Distribution, Recipe, generate_answers
from app.simulation.named_policies import Workers, policy_of
from app.simulation.policy_replay import replay
from app.simulation.recorded_crowd import UNKNOWN, RecordedAnswers, read_crowd

SETS = Path(__file__).resolve().parents[2] / "shared" / "data"
BUDGETS = (1, 1.5, 2, 3, 4, 5)
FINE = tuple(np.arange(4, 41) / 4)  # labels per item at which a job is looked at
PUBLISHED: dict[Workers, tuple[str, ...]] = {
    "pull": ("opt-kg", "cvar-kg", "label-uncertainty", "requallo", "round-robin"),
    "choose": ("opt-kg", "cvar-kg", "label-uncertainty", "requallo", "round-robin"),
}
REACHED = 0.97
NEWCOMER = (4.0, 1.0)  # answers, right and wrong, that a worker is credited with
_PLAIN = Recipe(items=300, workers=40, answers_per_item=20)
INVENTED = {
    "plain": _PLAIN,
    "copiers": replace(_PLAIN, copiers=0.5),
    "hard-items": replace(_PLAIN, skill=Distribution("fixed", 1.0), difficulty=Distribution("uniform", 0, 1)),
    "hard-items-and-workers": replace(_PLAIN, difficulty=Distribution("uniform", 0, 1)),
    "drifters": replace(_PLAIN, drifters=0.4),
    "liars": replace(_PLAIN, liars=0.25),
    "spammers": replace(_PLAIN, spammers=0.5),
    "rare-class": replace(_PLAIN, class_weights=(0.95, 0.05)),
    "rare-classes": replace(_PLAIN, classes=4, class_weights=(0.85, 0.05, 0.05, 0.05)),
}


def _sampled(crowd: RecordedAnswers) -> RecordedAnswers:
    """400 of the items with 20 answers or more."""
    many = np.flatnonzero(np.bincount(crowd.item, minlength=len(crowd.items)) >= 20)
    return crowd.only(np.isin(np.arange(len(crowd.items)), np.random.default_rng(0).choice(many, 400, replace=False)))


CUTS: dict[str, Callable[[RecordedAnswers], RecordedAnswers]] = {
    "adult2": lambda crowd: crowd.only(crowd.truth != UNKNOWN),
    "millionaire": _sampled,
}
NAMES = ("rte", "temp", "d_possent", "bluebirds", "adult2", "weather_amt", "millionaire")


def crowd_of(name: str, folder: Path, draw: int) -> RecordedAnswers:
    """An synthetic crowd, or a public set in a fresh order; of two large ones a part."""
    rng = np.random.default_rng(draw)
    if name in INVENTED:
        return generate_answers(INVENTED[name], rng)
    return CUTS.get(name, lambda whole: whole)(read_crowd(folder / name)).shuffled(rng)


def compare(name: str, crowd: RecordedAnswers, workers: Workers, seeds: int) -> None:
    """A line per policy, and what the default policy gains over the best of the others."""
    print(f"{name}, {workers}, {len(crowd.items)} items, {seeds} seeds: accuracy at labels per item", flush=True)
    print(f"{'':18}" + "".join(f"{budget:>16}" for budget in BUDGETS))
    found = {}
    for kind in ("information", *PUBLISHED[workers]):
        policy = policy_of(kind, crowd.labels, workers)
        found[kind] = np.array([each.accuracy for each in replay(crowd, policy, BUDGETS, runs=seeds, workers=workers)])
        line(kind, found[kind])
    best = max(PUBLISHED[workers], key=lambda policy: found[policy].mean())
    line(f"less {best}"[:18], found["information"] - found[best])
    if name in INVENTED:
        line("less round-robin", found["information"] - found["round-robin"])
    print()


def line(title: str, figures: np.ndarray) -> None:
    cells = (f"{mean:.3f} +- {half:.3f}" for mean, half in map(mean_of_runs, figures))
    print(f"{title:18}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


def stopping(name: str, crowd: RecordedAnswers, workers: Workers, seeds: int) -> None:
    """How many labels per item each policy needs to know 97 % of what all answers show, with the stops of its job."""
    items = len(crowd.items)
    sizes = {"items": items, "workers": len(crowd.workers), "classes": len(crowd.labels)}
    ballots = Ballots.of(crowd.item, crowd.worker, crowd.label, **sizes)
    full = {kind.kind: crowd.accuracy(kind.fit(ballots).posterior) for kind in (Majority(), ByModel())}
    print(f"{name}, {workers}, {seeds} seeds; all answers: " + ", ".join(f"{k} {v:.3f}" for k, v in full.items()))
    needed = {}
    for policy in ("information", "opt-kg", "requallo", "requallo-p0.2", "dispatch"):
        curve = replay(crowd, with_stops(policy, crowd, workers), FINE, runs=seeds, workers=workers)
        accuracy, labels = (
            np.array(each) for each in zip(*((s.accuracy, s.labels / items) for s in curve), strict=True)
        )
        needed[policy] = [reached(accuracy.mean(axis=1), labels.mean(axis=1), REACHED * goal) for goal in full.values()]
        said = ", ".join(
            f"{REACHED * goal:.3f} at {at:.2f}" for goal, at in zip(full.values(), needed[policy], strict=True)
        )
        end = f"ends at {labels[-1].mean():.2f} labels with {accuracy[-1].mean():.3f}"
        print(f"{policy:16}{said}; {end}", flush=True)
    ours, *others = needed.values()
    best = [min(theirs) for theirs in zip(*others, strict=True)]
    ratios = ["no other gets there" if np.isinf(b) else f"{a / b:.2f}" for a, b in zip(ours, best, strict=True)]
    print(f"information needs of the labels of the best published policy: {', '.join(ratios)}\n")


def with_stops(policy: str, crowd: RecordedAnswers, workers: Workers) -> JobPolicy:
    """The policy in a job that closes items: by the posterior where it brings no requirement of its own."""
    policy = policy_of(policy, crowd.labels, workers)
    usual = JobPolicy(labels=crowd.labels)
    stops = {"requirement": usual.requirement, "max_votes_per_label": usual.max_votes_per_label}
    return policy.model_copy(update=stops) if policy in {"information", "opt-kg"} else policy


def known(name: str, crowd: RecordedAnswers) -> None:
    """What the workers give who are right most often, equally many per item, by the odds of their true accuracy.

    Of a worker's accuracy the item in question is left out.
    """
    right = (crowd.label == crowd.truth[crowd.item]).astype(np.float64)
    answers, correct = (np.bincount(crowd.worker, of, len(crowd.workers)) for of in (np.ones_like(right), right))
    hit = (correct[crowd.worker] - right + NEWCOMER[0]) / (answers[crowd.worker] - 1 + sum(NEWCOMER))
    order = np.lexsort((-hit, crowd.item))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - np.searchsorted(crowd.item[order], crowd.item[order])
    print(f"{name}: accuracy by the best workers of every item, their accuracies known")
    for most in (1, 2, 3, 4, 5, rank.max() + 1):
        asked, odds = rank < most, np.zeros((len(crowd.items), len(crowd.labels)))
        np.add.at(
            odds, (crowd.item[asked], crowd.label[asked]), np.log(hit / (1 - hit) * (len(crowd.labels) - 1))[asked]
        )
        print(f"{most:3} labels per item: {crowd.accuracy(odds):.3f}")


def reached(accuracy: np.ndarray, labels: np.ndarray, goal: float) -> float:
    """The fewest labels per item with that accuracy, on straight lines between looks; inf where it is not reached."""
    there = np.flatnonzero(accuracy >= goal)
    if not len(there):
        return float("inf")
    k = int(there[0])
    if not k:
        return float(labels[0])
    return float(np.interp(goal, accuracy[k - 1 : k + 1], labels[k - 1 : k + 1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join([*NAMES, *INVENTED])}; rte and temp unless named")
    parser.add_argument("--sets", type=Path, default=SETS, help="the folder of the public sets")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--draw",
        type=int,
        default=1,
        help="which synthetic crowds, and which orders of arrival with --workers pull",
    )
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--stopping", action="store_true")
    parser.add_argument("--known", action="store_true")
    chosen = parser.parse_args()
    for name in chosen.names or ("rte", "temp"):
        if name not in INVENTED and not (chosen.sets / name).exists():
            print(f"the public set {name} is not at {chosen.sets}: nothing to measure")
            continue
        crowd = crowd_of(name, chosen.sets, chosen.draw)
        if chosen.known:
            known(name, crowd)
            continue
        (stopping if chosen.stopping else compare)(name, crowd, "choose" if chosen.choose else "pull", chosen.seeds)


if __name__ == "__main__":
    main()
