"""Compare a model's guesses as priors, as a worker's answers, and as both: how right the labels are, and at what cost.

The model states .9 or more on every item and is wrong on a share of them, always with the same label. People are right
with .7 to .9. Every job runs until nothing is left to ask. By two names, the priors and the answers of the same model
have different sources as far as the job knows. Means of seeds.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from app.simulation.model_opinions import ARRANGEMENTS, Arrangement, OpinionOutcome, PeopleAndModel, run_with_model

ITEMS, PEOPLE = 200, 20


def outcome(
    arrangement: Arrangement, asked: float, classes: int, cluster: float, gold: int, seed: int
) -> OpinionOutcome:
    rng = np.random.default_rng(seed)
    crowd = PeopleAndModel.drawn(rng, items=ITEMS, people=PEOPLE, classes=classes, cluster=cluster)
    return run_with_model(crowd, arrangement, asked, seed, gold=gold)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--cluster", type=float, nargs="+", default=[0.15])
    parser.add_argument("--gold", type=int, nargs="+", default=[0])
    parser.add_argument("--processes", type=int, default=2)
    asked_for = parser.parse_args()
    print("labels  wrong  gold  asked  the model speaks as    right  lowest  resolved  labels/item  believed")
    with ProcessPoolExecutor(asked_for.processes) as pool:
        for classes in (2, 3):
            for cluster in asked_for.cluster:
                for gold in asked_for.gold:
                    for asked in (0.9, 0.95):
                        for arrangement in ARRANGEMENTS:
                            one = partial(outcome, arrangement, asked, classes, cluster, gold)
                            found = list(pool.map(one, range(asked_for.seeds)))
                            right, resolved, labels, believed = np.mean(
                                [list(vars(each).values()) for each in found], 0
                            )
                            print(
                                f"{classes:6}  {cluster:5}  {gold:4}  {asked:5}  {arrangement:21}  {right:.3f}  "
                                f"{min(each.accuracy for each in found):6.3f}  {resolved:8.3f}  {labels:11.2f}  "
                                f"{believed:8.3f}",
                                flush=True,
                            )


if __name__ == "__main__":
    main()
