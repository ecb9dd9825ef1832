"""How long a million items' priorities take, against one pass of the incomplete beta function over the same votes."""

from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy import special

from app.policy.allocation import Circumstances, Requallo
from app.policy.belief import Facts, State
from app.policy.prospect import Prospect
from app.policy.requirements import Profit, Ratio, Requirement, Significance
from app.policy.workers import Anonymous

ITEMS = 1_000_000
ROUNDS = 5


def best_of(action: Callable[[], object]) -> float:
    """Seconds of the quickest round."""
    seconds = []
    for _ in range(ROUNDS):
        start = perf_counter()
        action()
        seconds.append(perf_counter() - start)
    return min(seconds)


def priorities(votes: np.ndarray, requirement: Requirement) -> np.ndarray:
    prospect = Prospect.of(Anonymous(), State(votes, np.empty((len(votes), 0))), Facts.plain(len(votes)))
    return Requallo().priority(prospect, Circumstances(requirement))


def main() -> None:
    votes = np.random.default_rng(0).integers(0, 8, (ITEMS, 2)).astype(np.float64)
    reference = best_of(lambda: special.betainc(votes[:, 0] + 1, votes[:, 1] + 1, 0.5))
    print(f"reference: betainc over {ITEMS:,} items {reference * 1000:.0f} ms")
    for requirement in (Ratio(min_ratio=4), Significance(alpha=0.2), Profit(value=100, loss=100)):
        seconds = best_of(lambda requirement=requirement: priorities(votes, requirement))
        print(f"requallo, {requirement.kind}: {seconds / reference:.2f} of the reference")


if __name__ == "__main__":
    main()
