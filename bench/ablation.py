"""Show what each part of the default policy earns: the default beside versions of it that lack one part.

Accuracy over all items at equal labels, no stops, on random items of each public set and on synthetic crowds. With
`--choose` the policy picks workers, and the parts are those of `pair`. Means of seeds; the last lines are means over
crowds, and their difference to the default.
"""

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

from app.policy.core.decision import Reason
from app.policy.job_policy import JobPolicy
from app.policy.worker_choice import Pair, Pull
from app.policy.worker_models.auto import auto_stages
from app.policy.worker_models.auto.stage_models import CrowdAccuracy, Rows
from app.policy.worker_models.stages import StageChoice
from app.simulation.crowd_generator import generate_answers
from app.simulation.named_policies import Workers, policy_of
from app.simulation.policy_replay import replay
from app.simulation.recorded_crowd import RecordedAnswers
from bench.policy_sets import INVENTED
from bench.trust import NAMES, SETS, crowd_of

BUDGETS = (2, 3, 5)


@contextmanager
def as_it_is() -> Iterator[None]:
    yield


@contextmanager
def without_copiers() -> Iterator[None]:
    """Nobody looks for workers who repeat one source."""
    with patch.object(auto_stages, "choose_copied", lambda *_, **__: None):
        yield


@contextmanager
def one_accuracy() -> Iterator[None]:
    """One accuracy per worker and nothing else: no rows, and no look for copiers."""

    def stays(_contest: object, stage: int) -> StageChoice:
        return StageChoice(stage, {}, 0, Reason("fixed", ""))

    with patch.object(auto_stages, "choose_between", stays), without_copiers():
        yield


@contextmanager
def shared_by_the_crowd(model_fields: dict[str, object]) -> Iterator[None]:
    """The stages of `auto` with other constants."""
    with ExitStack() as stack:
        for kind in (CrowdAccuracy, Rows):
            for name, value in model_fields.items():
                if name in vars(kind):
                    stack.enter_context(patch.object(kind, name, value))
        yield


def serving_everybody(policy: JobPolicy) -> JobPolicy:
    return policy.model_copy(update={"worker_choice": Pull(min_information_share=0)})


def unchanged(policy: JobPolicy) -> JobPolicy:
    return policy


def choosing(**fields: float) -> Callable[[JobPolicy], JobPolicy]:
    return partial(_choosing, fields)


def _choosing(fields: dict[str, float], policy: JobPolicy) -> JobPolicy:
    return policy.model_copy(update={"worker_choice": Pair(**fields)})


VERSIONS: dict[Workers, dict[str, tuple[Callable, Callable[[JobPolicy], JobPolicy]]]] = {
    "pull": {
        "default": (as_it_is, unchanged),
        "one accuracy": (one_accuracy, unchanged),
        "no copiers": (without_copiers, unchanged),
        "same newcomers": (partial(shared_by_the_crowd, {"learns_newcomers": False}), unchanged),
        "equal shares": (partial(shared_by_the_crowd, {"shares_held": np.inf}), unchanged),
        "independent errors": (partial(shared_by_the_crowd, {"spread_of_errors": np.inf}), unchanged),
        "everybody served": (as_it_is, serving_everybody),
    },
    "choose": {
        "default": (as_it_is, unchanged),
        "no trial": (as_it_is, choosing(trial=0)),
        "no second opinions": (as_it_is, choosing(second_opinions=0)),
        "neither": (as_it_is, choosing(trial=0, second_opinions=0)),
        "no optimism": (as_it_is, choosing(optimism=0)),
    },
}


def crowd_named(name: str, folder: Path, items: int) -> RecordedAnswers:
    """Some items of a public set, or a synthetic crowd."""
    if name in INVENTED:
        return generate_answers(INVENTED[name], np.random.default_rng(3))
    return crowd_of(folder / name, items)


def accuracies(name: str, folder: Path, items: int, workers: Workers, seeds: int, version: str) -> np.ndarray:
    """The mean accuracy of one version on one crowd at each budget."""
    crowd = crowd_named(name, folder, items)
    version_of, policy_with = VERSIONS[workers][version]
    policy = policy_with(policy_of("information", crowd.labels, workers))
    with version_of():
        return np.array([each.accuracy.mean() for each in replay(crowd, policy, BUDGETS, runs=seeds, workers=workers)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join((*NAMES, *INVENTED))}; all unless named")
    parser.add_argument("--sets", type=Path, default=SETS, help="the folder of the public sets")
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--items", type=int, default=250, help="of a public set, at most")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="versions beside the default")
    chosen = parser.parse_args()
    workers: Workers = "choose" if chosen.choose else "pull"
    versions = ["default", *(chosen.only if chosen.only is not None else list(VERSIONS[workers])[1:])]
    names = chosen.names or [*(name for name in NAMES if (chosen.sets / name).exists()), *INVENTED]
    print(f"{workers}, {chosen.seeds} seeds, accuracy at {BUDGETS} labels per item")
    print(f"{'':24}" + "".join(f"{each:>20}" for each in versions))
    found: dict[str, np.ndarray] = {}
    with ProcessPoolExecutor(chosen.processes) as pool:
        for name in names:
            measure = partial(accuracies, name, chosen.sets, chosen.items, workers, chosen.seeds)
            found[name] = np.array(list(pool.map(measure, versions)))  # (versions, budgets)
            print(f"{name:24}" + "".join(f"{_cells(each):>20}" for each in found[name]), flush=True)
    for title, some in (("public sets", NAMES), ("synthetic crowds", INVENTED)):
        figures = np.array([found[name] for name in names if name in some])  # (crowds, versions, budgets)
        if not len(figures):
            continue
        print(f"{title:24}" + "".join(f"{_cells(each):>20}" for each in figures.mean(axis=0)))
        print(f"{'- default':24}" + "".join(f"{_cells(each):>20}" for each in (figures - figures[:, :1]).mean(axis=0)))


def _cells(figures: np.ndarray) -> str:
    return " ".join(f"{each:.3f}" for each in figures)


if __name__ == "__main__":
    main()
