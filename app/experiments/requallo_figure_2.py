"""Figure 2 of Li et al. (WSDM 2016): the comparison of Figure 1 on the Game data, until budgets are ample."""

from collections.abc import Mapping

from app.experiments.experiment import Finding, Row, Setting
from app.experiments.requallo_figures import (
    C4,
    LOOPING,
    LU,
    OPT_KG,
    P02,
    PRINTED_TABLE_3,
    RANDOM,
    Spent,
    accuracy_panels,
    read_game,
    spend,
)

DEPTH = 500  # answers of an item that can be bought: no policy gets that far within the budget
QUARTERS = 36  # of a label per item: nine labels per item, the paper's 15,000
_NAMES = (P02, C4, OPT_KG, LU, LOOPING, RANDOM)
_BASELINES = (OPT_KG, LU, LOOPING, RANDOM)


def budgets_of(items: int, quarters: list[int]) -> list[int]:
    """Budgets in labels, from quarters of a label per item, rounded up: at 2 per item, each item may have two."""
    return [-(-items * quarter // 4) for quarter in quarters]


def figure_2(setting: Setting) -> Finding:
    """The Game: items with three labels, how many of those are right, and their share."""
    setting.report("reading the Game data")
    crowd = read_game(setting.data)
    quarters = list(range(2, QUARTERS + 1, setting.size(1, 2)))  # below 2 hardly an item has three labels
    budgets = budgets_of(len(crowd.items), quarters)
    spent: dict[str, Spent] = {}
    for name in _NAMES:
        setting.report(f"{name}: {setting.seeds} runs of {budgets[-1]:,} labels")
        spent |= spend(crowd, (name,), budgets, setting.seeds, DEPTH)
    per_item = [quarter / 4 for quarter in quarters]
    rows = (*_quantity(spent, per_item, len(crowd.items)), *_accuracy(spent, per_item))
    return Finding(rows, accuracy_panels(spent, per_item), _NOTES)


_NOTES = (
    "Figure 2 is a drawing: what is compared is what the text of section 4.2 says.",
    "Labeled means at least three labels. A tie of the majority counts one half.",
    "The paper's order of arrival is lost, and our copy of the data is another cut; answers come in a random order.",
)


def _quantity(spent: Mapping[str, Spent], per_item: list[float], items: int) -> tuple[Row, ...]:
    """The claims about the number of labeled items."""
    at = {name: dict(zip(per_item, each.labeled.mean(axis=1).tolist(), strict=True)) for name, each in spent.items()}
    most_at_2 = max(at[name][2.0] for name in _BASELINES)
    most_at_3 = max(at[name][3.0] for name in (OPT_KG, LU, RANDOM))
    apart = max(abs(at[P02][each] - at[C4][each]) for each in (0.5, 1.0, 1.5))
    none_yet = at[OPT_KG][1.0] + at[LU][1.0]
    done = float(spent[P02].bought[-1].mean())
    return (
        Row(f"{LOOPING}: labeled at 2 per item", 0, at[LOOPING][2.0], at[LOOPING][2.0] == 0, 0),
        Row(f"{LOOPING}: labeled at 3 per item", items, at[LOOPING][3.0], at[LOOPING][3.0] == items, 0),
        Row(f"{OPT_KG} and {LU}: labeled at 1 per item", 0, none_yet, none_yet == 0, 0),
        *(
            Row(f"{name}: labeled at 2 per item", "more than others", at[name][2.0], at[name][2.0] > most_at_2, 0)
            for name in (P02, C4)
        ),
        Row("... the most of others", "not given", most_at_2, None, 0),
        Row(f"{P02}: labeled at 3 per item", "only looping has more", at[P02][3.0], at[P02][3.0] > most_at_3, 0),
        Row(f"{P02} against {C4} up to 1.5 per item", "the same", f"{apart:.0f} apart", apart < 0.03 * items),
        Row(f"{P02}: labels bought in the end", PRINTED_TABLE_3[P02][0], done, None, 0),
    )


def _accuracy(spent: Mapping[str, Spent], per_item: list[float]) -> tuple[Row, ...]:
    """The claims about the share of labeled items that is right."""
    at = {name: dict(zip(per_item, each.accuracy.mean(axis=1).tolist(), strict=True)) for name, each in spent.items()}
    ebb = {name: min((each for each in per_item if each >= 1), key=lambda each: at[name][each]) for name in (P02, C4)}
    last = per_item[-1]
    return (
        *(
            Row(f"{name}: accuracy at 2 per item", f"below {P02}", at[name][2.0], at[name][2.0] < at[P02][2.0])
            for name in (OPT_KG, LU)
        ),
        Row(f"{P02}: accuracy at 2 per item", "high", at[P02][2.0]),
        *(
            Row(f"{name}: low ebb at, per item", around, ebb[name], abs(ebb[name] - around) <= 0.5, 2)
            for name, around in ((P02, 3.5), (C4, 4.5))
        ),
        *(
            Row(f"{name}: accuracy there", "low", at[name][ebb[name]], at[name][ebb[name]] < at[name][2.0])
            for name in ebb
        ),
        *(
            Row(f"{name}: accuracy at {last:g} per item", "raised back", at[name][last], at[name][last] > at[name][2.0])
            for name in ebb
        ),
        *(Row(f"{name}: accuracy at {last:g} per item", "good", at[name][last], None) for name in (OPT_KG, LU)),
    )
