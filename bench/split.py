"""Measure what a split of the budget by price saves: CrowdBudget and a split by value, against equal numbers.

Tran-Thanh et al. (AAMAS 2013, section 5) report up to 40 % less error than equal numbers of answers. Their items have
four prices, 0.2, 0.5, 0.7 and 1, the harder the more expensive; how hard, and the noise that they add to the answers,
"which decreases with redundancy", they do not say. Here both are stated: a profile is how often workers are right at
each price, and noise is the share of guesses among the j-th answers to an item. Each price has 25 items, in turns; one
answer for all costs 60. All errors are exact, with an even coin for ties. The split by worth knows the profile, but not
the noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from app.policy.planning.split import Group, Split, Splitter, by_crowdbudget, by_worth, evenly

PRICES = tuple(map(Decimal, ("0.2", "0.5", "0.7", "1")))
PER_PRICE = 25
BUDGETS = (10, 20, 30, 40, 60, 80, 100, 150, 200, 300, 400)
SPLITTERS: dict[str, Splitter] = {"uniform": evenly, "crowdbudget": by_crowdbudget, "by worth": by_worth}
CLAIM = 0.40


@dataclass(frozen=True)
class Profile:
    """How often workers are right on items of each price, and how much of that is noise at first."""

    name: str
    accuracy: tuple[float, float, float, float]  # by price, from the cheapest
    noise: float = 0.0  # the j-th answer to an item is a guess with probability noise^j

    def items(self) -> list[Group]:
        """One group per item, so that what is left over goes to all prices alike."""
        return [Group(*each) for each in zip(PRICES, (1,) * 4, self.accuracy, strict=True)] * PER_PRICE

    def errors(self, answers: Sequence[int]) -> float:
        """The expected number of wrong items, with this many answers each, in the order of `items`."""
        tables = [error_table(accuracy, self.noise, max(answers)) for accuracy in self.accuracy]
        return float(sum(tables[at % 4][n] for at, n in enumerate(answers)))


PROFILES = (
    Profile("equally hard", (0.75, 0.75, 0.75, 0.75)),
    Profile("expensive ones harder", (0.9, 0.8, 0.7, 0.6)),
    Profile("expensive ones nearly hopeless", (0.85, 0.7, 0.55, 0.51)),
    Profile("all easy, as galaxies that 80 % agree on", (0.95, 0.9, 0.85, 0.8)),
    Profile("cheap ones harder", (0.6, 0.7, 0.8, 0.9)),
    Profile("equally hard, noise .8^j", (0.75, 0.75, 0.75, 0.75), 0.8),
    Profile("expensive ones harder, noise .8^j", (0.9, 0.8, 0.7, 0.6), 0.8),
    Profile("all easy, noise .8^j", (0.95, 0.9, 0.85, 0.8), 0.8),
)


def error_table(accuracy: float, noise: float, most: int) -> npt.NDArray[np.float64]:
    """P(the majority is wrong) for 0 .. most answers, each with an accuracy of its own; shape (most + 1,).

    By the distribution of the number of right answers, one answer after the other.
    """
    right, errors = np.array([1.0]), [0.5]
    for j in range(1, most + 1):
        chance = 0.5 + (accuracy - 0.5) * (1 - noise**j)
        right = np.append(right * (1 - chance), 0.0) + np.append(0.0, right * chance)
        errors.append(right[: (j + 1) // 2].sum() + (right[j // 2] / 2 if j % 2 == 0 else 0.0))
    return np.array(errors)


def per_item(split: Split) -> list[int]:
    """Answers for each item, where every group is one."""
    return [m if lucky else n for _, n, m, lucky in split.parts]


def errors(profile: Profile, budget: int) -> dict[str, float]:
    """Expected errors of each split."""
    items = profile.items()
    return {name: profile.errors(per_item(split(Decimal(budget), items))) for name, split in SPLITTERS.items()}


def main() -> None:
    """Print a table per profile, then in how many cells each split beats equal numbers, and by how much."""
    saved: dict[str, list[float]] = {"crowdbudget": [], "by worth": []}
    print(f"wrong items of {4 * PER_PRICE}, and how many fewer than with equal numbers of answers")
    for profile in PROFILES:
        print(f"\n{profile.name}: right with {', '.join(map(str, profile.accuracy))} at {', '.join(map(str, PRICES))}")
        print(f"{'budget':>8} {'uniform':>8} {'crowdbudget':>12} {'saves':>6} {'by worth':>9} {'saves':>6}")
        for budget in BUDGETS:
            wrong = errors(profile, budget)
            less = {name: 1 - wrong[name] / wrong["uniform"] for name in saved}
            for name, share in less.items():
                saved[name].append(share)
            print(
                f"{budget:8} {wrong['uniform']:8.2f} {wrong['crowdbudget']:12.2f} {less['crowdbudget']:6.0%} "
                f"{wrong['by worth']:9.2f} {less['by worth']:6.0%}"
            )
    print()
    for name, shares in saved.items():
        better = [share for share in shares if share > 0.005]
        worse = [share for share in shares if share < -0.005]
        print(
            f"{name}: fewer errors than uniform in {len(better)} of {len(shares)} cells, by {max(shares):.0%} at most; "
            f"more in {len(worse)}, by {-min(shares):.0%} at most (the paper's goal for CrowdBudget: {CLAIM:.0%} fewer)"
        )


if __name__ == "__main__":
    main()
