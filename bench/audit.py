"""How many checks an audit takes, and how often it is wrong: python bench/audit.py [audits]"""

import sys

import numpy as np
from scipy.stats import hypergeom

from app.policy.quality.audit import Claim

MOST = 5000  # checks of an audit


def main(audits: int = 1000) -> None:
    print("claim: at least .95 right, confidence .95. fixed n: the smallest exact hypergeometric test with power .8")
    names = ("population", "accuracy", "false claims", "proven", "mean checks", "fixed n", "ratio")
    print(" ".join(f"{name:>{width}}" for name, width in zip(names, (10, 8, 12, 7, 11, 7, 6), strict=True)))
    for population in (1000, 5000, 100_000):
        claim = Claim(0.95, 0.95, population)
        for accuracy in (0.90, 0.94, 0.949, 0.95, 0.96, 0.97, 0.98, 0.99, 1.0):
            right = round(accuracy * population)
            stopped, wrong, proven = simulated(claim, right, audits)
            fixed = fixed_size(claim, right) if accuracy > 0.96 else None
            tail = "" if fixed is None else f" {fixed:7} {stopped / fixed:6.2f}"
            print(f"{population:10} {accuracy:8} {wrong:12.4f} {proven:7.3f} {stopped:11.1f}{tail}")


def simulated(claim: Claim, right: int, audits: int) -> tuple[float, float, float]:
    """Mean checks until the decision, share of wrong decisions, share of proofs."""
    rng = np.random.default_rng(right)
    looks = min(MOST, claim.population)
    size, bar = np.arange(1, looks + 1), -np.log(1 - claim.confidence)
    stopped, wrong, proven = 0, 0, 0
    for _ in range(audits):
        labels = np.zeros(claim.population, dtype=bool)
        labels[:right] = True
        counts = np.cumsum(rng.choice(labels, looks, replace=False))
        for_it = claim.log_evidence_for(counts, size) >= bar
        decided = for_it | (claim.log_evidence_against(counts, size) >= bar)
        first = int(decided.argmax()) if decided.any() else looks - 1
        stopped += first + 1
        proven += bool(for_it[first])
        wrong += bool(decided[first]) and bool(for_it[first]) != (right > claim.too_few)
    return stopped / audits, wrong / audits, proven / audits


def fixed_size(claim: Claim, right: int, power: float = 0.8) -> int:
    """The smallest sample whose exact test proves the claim with this power."""
    population, alpha = claim.population, 1 - claim.confidence
    errors_at_most = population - claim.too_few
    for size in range(1, population + 1):
        allowed = hypergeom.ppf(alpha, population, errors_at_most, size)
        allowed -= hypergeom.cdf(allowed, population, errors_at_most, size) > alpha
        if allowed >= 0 and hypergeom.cdf(allowed, population, population - right, size) >= power:
            return size
    return population


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
