"""The constants of the default policy that were chosen by measurement or judgement, each with what it was chosen by.

Tolerances, grids and limits of iterations stay where they are used: they change how exactly something is computed, not
what. Fields of policies keep their defaults, because they are configuration. The page `docs/reference/constants.md`
lists both, and is generated from here.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

_JUDGEMENT = "judgement, not measured"
_BY_NUMBERS = "`bench/answer_kinds.py --choose`, three public sets (docs/research/answer-kinds.md)"
_IN_ORDER = "web and adult2, and two simulated crowds (docs/research/ordinal.md)"


class Chosen(NamedTuple):
    """What a constant does, and what it was chosen by."""

    does: str
    by: str


@dataclass(frozen=True)
class CalibrationConstants:
    """How items of known truth calibrate the confidence (`quality/calibration.py`)."""

    level: Annotated[
        float,
        Chosen(
            "the logit of the accuracy at the centre, in other crowds: the mean",
            "`bench/calibration_prior.py`, fitted to 14 public sets, each counting as 50 items",
        ),
    ] = 1.75
    level_spread: Annotated[float, Chosen("its standard deviation between crowds", "the same fit")] = 0.46
    log_slope: Annotated[
        float,
        Chosen("the logarithm of how fast accuracy rises with confidence, in other crowds: the mean", "the same fit"),
    ] = -1.26
    log_slope_spread: Annotated[float, Chosen("its standard deviation between crowds", "the same fit")] = 0.31
    widening: Annotated[
        float,
        Chosen(
            "times as far as the public sets differ, a job with truth of its own may differ from them",
            "`bench/trust.py`, 50 gold items, asked .95, each of 14 sets calibrated by the others, 6 seeds: 12 sets "
            "within .02, for fewer labels on good ones; 9 with the fitted spreads",
        ),
    ] = 1.75
    dissent: Annotated[
        float,
        Chosen(
            "logits of confidence that a unit of log(1 + dissent) is worth",
            "public sets: from 2 to 4 it makes little difference; no figure was kept",
        ),
    ] = 2.5
    centre: Annotated[
        float,
        Chosen(
            "the discounted logit at which a map states its level: there level and slope are nearly independent",
            "judgement: about where jobs stop",
        ),
    ] = 1.5
    cautious: Annotated[
        float,
        Chosen(
            "the probability that the true accuracy is below the one that jobs with truth go by",
            "`bench/trust.py`: with the mean, medrel asked .90 was right with .87 and adult2 asked .95 with .91",
        ),
    ] = 1 / 3
    favourable: Annotated[
        float,
        Chosen(
            "the probability that the true accuracy is below the favourable one, by which items are given up",
            "a simulated crowd that errs together on a quarter of the items: 5.6 labels per item until all are given "
            "up, 9.2 at the upper quartile; RTE, weather, medrel and nyu_qa resolve about as many items (2 seeds)",
        ),
    ] = 0.5
    min_checked: Annotated[
        int,
        Chosen(
            "items of known truth with answers before anything is calibrated",
            "judgement: with fewer, the map would be that of other crowds (decision 0031)",
        ),
    ] = 10


@dataclass(frozen=True)
class EarlierJobConstants:
    """What the calibration of an earlier job says about the next one (`quality/earlier_jobs.py`)."""

    between_jobs: Annotated[
        float,
        Chosen(
            "how much two jobs of one requester differ, relative to two public crowds",
            "an assumption: no public set has two jobs of one requester (decision 0031)",
        ),
    ] = 0.5
    above: Annotated[
        float,
        Chosen(
            "discounted logits above the centre at which the slope of the earlier map is read",
            "judgement: there labels are nearly as sure as they get; the first map repeats the earlier one within .01",
        ),
    ] = 4.0


@dataclass(frozen=True)
class OpinionConstants:
    """Priors as opinions of a source, and workers who repeat them (`quality/echoes.py`, `engine.py`)."""

    fidelity: Annotated[
        float,
        Chosen("how often a worker who repeats the opinions gives their favourite label", _JUDGEMENT),
    ] = 0.98
    min_evidence: Annotated[
        float,
        Chosen(
            "nats of evidence that make a worker an echo",
            "judgement: about 3,000 to 1, because every refit tests every worker; `bench/opinions.py` shows its effect "
            "(decision 0033: .954 right with two names, .850 without the search)",
        ),
    ] = 8.0
    same_belief: Annotated[
        float,
        Chosen(
            "change of a probability below which items without answers are not judged again",
            "judgement (decision 0033)",
        ),
    ] = 0.01


@dataclass(frozen=True)
class NewcomerConstants:
    """How accurate a new worker of this crowd is expected to be (`worker_models/inference/latent_truth.py`)."""

    workers: Annotated[
        float,
        Chosen(
            "workers of the accuracy below that a crowd is credited with before its first answer",
            "random parts of 15 public sets: mean accuracy .8034; four workers .8035 and TEMP less (decision 0034)",
        ),
    ] = 10.0
    accuracy: Annotated[
        float,
        Chosen(
            "the accuracy that is expected of a crowd before its first answer",
            "judgement: what the credit of [4, 1] expects",
        ),
    ] = 0.8
    min_answers: Annotated[
        int,
        Chosen(
            "answers on an item from which on agreement says something about workers",
            "TEMP at 1.5 labels: .883; with evidence from all answers, and four workers, .855 (decision 0034)",
        ),
    ] = 3
    least_knowledge: Annotated[
        float,
        Chosen("of the way from guesses to perfection that a new worker is always expected to be", _JUDGEMENT),
    ] = 0.1
    highest_accuracy: Annotated[float, Chosen("the most that is expected of a new worker", _JUDGEMENT)] = 0.95


@dataclass(frozen=True)
class StageConstants:
    """The first two stages of `auto`: one accuracy per worker, and a row per true class (`worker_models/auto`)."""

    shares_held: Annotated[
        float,
        Chosen(
            "pseudo-items per item that keep the shares of the classes equal, with one accuracy per worker",
            "a simulated class of 5 %, at 2, 3 and 5 labels: .904 .938 .969, with equal shares .877 .912 .965; held by "
            "1, TEMP lost .029 (docs/research/default-policy-history.md). No figure was kept for values between",
        ),
    ] = 5.0
    shares_held_by_rows: Annotated[
        float,
        Chosen(
            "the same with a row per true class, also in `confusion`",
            "five public sets and five simulated crowds (docs/research/default-policy-history.md): halfway is best "
            "when RTE, bluebirds, weather or adult2 is left out",
        ),
    ] = 1.0
    spread_of_errors: Annotated[
        float,
        Chosen(
            "how different the wrong answers to one item are: the concentration of Polya's urn",
            "fitted to six public sets with 3 to 10 labels: 1.2 to 8.5",
        ),
    ] = 2.0
    share_of_rows: Annotated[
        float,
        Chosen(
            "weight of rows in the average of both, while one accuracy per worker is in force",
            "a job with a confidently wrong model that asked for .90 is within .02 with it, and was right with .85 "
            "without; accuracy hardly depends on it (docs/research/default-policy-history.md)",
        ),
    ] = 0.5
    share_of_one_accuracy: Annotated[
        float,
        Chosen(
            "weight of one accuracy per worker in the average of both, while rows are in force",
            ".5, .3 and .2 beside a share of rows of .5 (docs/research/default-policy-history.md): TEMP .915, .920 and "
            ".921",
        ),
    ] = 0.2
    min_answers: Annotated[int, Chosen("answers before stages are compared", _JUDGEMENT)] = 100
    folds: Annotated[int, Chosen("parts of the answers that are held out in turn", "judgement: the usual number")] = 5
    one_fold_from: Annotated[
        int, Chosen("answers above which one part is enough to compare models", "judgement, to save time")
    ] = 50_000
    promising: Annotated[
        float,
        Chosen(
            "of the gain that one part is expected to show when all meet the margin: with less, the other parts are "
            "not held out",
            "judgement, to save time",
        ),
    ] = 0.5


@dataclass(frozen=True)
class OrderConstants:
    """What is expected of workers where labels are in order (`worker_models/inference/knows_or_guesses.py`)."""

    sure: Annotated[float, Chosen("how often a worker who knows the answer is right, before any answer", _IN_ORDER)] = (
        0.9
    )
    known: Annotated[
        float, Chosen("answers of those who know, per answer of the job, that this expectation is worth", _IN_ORDER)
    ] = 0.5
    decay: Annotated[
        float,
        Chosen("the weight of an error of one more step of those who know, before any answer", _IN_ORDER),
    ] = 0.25
    errors: Annotated[float, Chosen("errors, per answer of the job, that this expectation is worth", _IN_ORDER)] = 0.1
    guesses: Annotated[
        float,
        Chosen(
            "guesses of all labels alike, per answer of the job, that are credited beside the crowd's own", _IN_ORDER
        ),
    ] = 0.3
    min_answers: Annotated[
        int, Chosen("answers on an item from which on it says something about errors and guesses", _IN_ORDER)
    ] = 2
    spread_of_errors: Annotated[
        float,
        Chosen(
            "how different the wrong answers to one item are, where labels are in order: the concentration of Polya's "
            "urn",
            "`bench/ordinal.py`, against 2, 5, 10 and none (docs/research/ordinal.md)",
        ),
    ] = 3.0


@dataclass(frozen=True)
class CopierConstants:
    """The third stage of `auto`: workers who copy one source (`worker_models/auto`)."""

    fidelity: Annotated[float, Chosen("how often a copier says what the source says", _JUDGEMENT)] = 0.98
    suspected: Annotated[
        float, Chosen("how likely a suspected worker copies when a fit starts", "judgement: only a start")
    ] = 0.9
    trusted: Annotated[
        float, Chosen("how likely any other worker copies when a fit starts", "judgement: only a start")
    ] = 0.1
    copiers_expected: Annotated[float, Chosen("pseudo-workers who copy", _JUDGEMENT)] = 0.2
    others_expected: Annotated[float, Chosen("pseudo-workers who do not copy", _JUDGEMENT)] = 0.8
    copier_from: Annotated[
        float, Chosen("the probability from which on a worker counts as a copier", "judgement: more likely than not")
    ] = 0.5
    no_expectation: Annotated[
        tuple[float, float],
        Chosen(
            "right and wrong answers that are credited where the answers alone decide a skill",
            "judgement: the prior of Jeffreys",
        ),
    ] = (0.5, 0.5)
    min_gain: Annotated[
        float,
        Chosen(
            "nats per answer that copying must gain in the quick comparison, unless the total is enough",
            "judgement: good workers also agree without copying",
        ),
    ] = 0.03
    enough_gain: Annotated[
        float,
        Chosen(
            "nats in total that are enough in the quick comparison",
            "simulated crowds, against 8 and 12 (docs/research/copiers.md): excludes a plain crowd that came near",
        ),
    ] = 15.0
    min_knowledge: Annotated[
        float,
        Chosen(
            "nats per answer by which workers who do not copy must be better than guesses, in the quick comparison",
            _JUDGEMENT,
        ),
    ] = 0.03
    max_share: Annotated[
        float,
        Chosen(
            "of the workers who may be suspected",
            "judgement; some runs with copiers allowed .7 (docs/research/copiers.md)",
        ),
    ] = 0.6
    min_margin: Annotated[
        float,
        Chosen(
            "standard errors by which copying must predict held-out answers better",
            "simulated crowds, against 2 and 3 (docs/research/copiers.md): with 2, honest workers were rated too low",
        ),
    ] = 2.5
    knowledge_margin: Annotated[
        float,
        Chosen(
            "standard errors by which workers who do not copy must be predicted better than guesses",
            "experts among guessers (docs/research/copiers.md): guessers were better by .2 at most, people who know by "
            ".7 to 13; with it, none of 18 runs fell",
        ),
    ] = 1.0
    max_answers: Annotated[
        int, Chosen("answers in which copiers are looked for; of more, a sample", "judgement, to save time")
    ] = 200_000


@dataclass(frozen=True)
class PairConstants:
    """Where the job picks workers: the trial, and second opinions (`worker_choice/pair.py`)."""

    trial_lift: Annotated[
        float,
        Chosen("times as high as others an answer on a trial item is valued", "judgement: first, but not at any price"),
    ] = 20.0
    trial_share: Annotated[
        float,
        Chosen(
            "of the items that are on trial, if the budget allows it",
            "none, .03, .06, .1, .15 on three sets, then .05 and .1 on five (docs/research/default-policy-history.md): "
            "TEMP .936 for .933, weather .830 for .818, RTE .912 for .915",
        ),
    ] = 0.1
    trial_budget: Annotated[
        float,
        Chosen(
            "of what the budget buys that further answers on trial items may take",
            "six sets at 1 label per item (docs/research/default-policy-history.md): a tenth on trial costs RTE .041 "
            "against a twentieth, TEMP .036",
        ),
    ] = 0.1
    negligible: Annotated[
        float,
        Chosen(
            "of the value of the best item: workers who are worth less give no second opinion",
            "judgement: leaves out workers whose votes do not count",
        ),
    ] = 1e-4


@dataclass(frozen=True)
class LowInformationConstants:
    """Whose answers give too little information to be paid for (`worker_choice/pull.py`, `engine.py`)."""

    min_others: Annotated[int, Chosen("other workers who must have answered before anybody is marked", _JUDGEMENT)] = 10
    max_share: Annotated[
        float,
        Chosen(
            "of the workers who are marked at most",
            "one run of 36 with copiers was at .56 at 5 labels per item without it, and recovers with it; RTE and TEMP "
            "stay as they are (docs/research/default-policy-history.md)",
        ),
    ] = 0.2
    doubt: Annotated[
        float,
        Chosen(
            "divided by sqrt(answers): how far an accuracy is moved in the worker's favour",
            "one standard error near 1/2; none and two were tried (docs/research/default-policy-history.md)",
        ),
    ] = 0.5


@dataclass(frozen=True)
class InformationConstants:
    """Which item is next (`allocation/information.py`, `worker_choice/base.py`)."""

    order_when_workers_ask: Annotated[
        float,
        Chosen(
            "the order of the entropy where workers ask for work",
            "nine candidates by simulation, two to five labels; 1.5 to 8 on RTE and TEMP move accuracy at 2 labels by "
            ".002 at most (docs/research/default-policy.md)",
        ),
    ] = 2.5
    order_when_workers_are_picked: Annotated[
        float,
        Chosen(
            "the same where the job picks the worker",
            "four public sets, against 2.5: RTE .910 for .909, TEMP .934 for .933, weather .825 for .823, bluebirds "
            ".770 for .752 (docs/research/default-policy-history.md)",
        ),
    ] = 1.5
    shortlist: Annotated[
        int,
        Chosen(
            "items at the head of the queue that are valued for the worker who asks",
            "`bench/shortlist.py`: `information` loses .01 % of the value at most (docs/explanation/workers.md)",
        ),
    ] = 32


@dataclass(frozen=True)
class NumberConstants:
    """What is expected of workers and items where answers are numbers (`worker_models/number_model.py`)."""

    noise: Annotated[
        float,
        Chosen("the deviation of an answer before any answer of the job, as a share of the range", _JUDGEMENT),
    ] = 0.15
    noise_workers: Annotated[
        float, Chosen("how many workers that expectation is worth, and half as many answers of one worker", _JUDGEMENT)
    ] = 2.0
    alike: Annotated[
        float, Chosen("half as many answers as it takes to see how a worker's precision differs", _BY_NUMBERS)
    ] = 40.0
    bias: Annotated[
        float, Chosen("the deviation of the workers' biases, before any answer, as a share of the range", _BY_NUMBERS)
    ] = 0.05
    bias_workers: Annotated[float, Chosen("how many workers that expectation is worth", _JUDGEMENT)] = 5.0
    items: Annotated[
        float,
        Chosen("how many items it is worth what is expected of a true number before any answer", _JUDGEMENT),
    ] = 1.0
    easiness: Annotated[
        float, Chosen("half as many answers as it takes to see how an item's difficulty differs", _BY_NUMBERS)
    ] = 20.0


@dataclass(frozen=True)
class PriceConstants:
    """What a job expects its workers to charge (`core/prices.py`)."""

    registered_answers: Annotated[
        float, Chosen("how many answers the median price of the registered workers is worth", _JUDGEMENT)
    ] = 10.0
    first_step: Annotated[
        int, Chosen("answers after which the expected price is first determined from answers", _JUDGEMENT)
    ] = 10
    growth: Annotated[float, Chosen("by how much the answers grow until it is determined again", _JUDGEMENT)] = 1.5
    tolerance: Annotated[
        float,
        Chosen("how many times as high or as low it must be for the items to be judged again", _JUDGEMENT),
    ] = 1.1


@dataclass(frozen=True)
class FeatureConstants:
    """Features of items, and the source that speaks for them (`quality/item_features.py`, `feature_model.py`)."""

    parts: Annotated[
        int,
        Chosen(
            "parts of the items, about each of which a model of the others speaks",
            "judgement: four fifths of the items teach nearly as much as all, at six fits per refit",
        ),
    ] = 5
    spread: Annotated[
        float,
        Chosen(
            "prior deviation of a logit by the intercept and, to begin with, by all features together",
            "judgement: that of the features is estimated from there; while it was fixed, 1, 2 and 4 made little "
            "difference (docs/research/features.md)",
        ),
    ] = 2.0
    constant: Annotated[
        float,
        Chosen("deviation, as a share of the largest number, below which a feature is constant", "rounding errors"),
    ] = 1e-9


@dataclass(frozen=True)
class DefaultConstants:
    """All of them, by mechanism."""

    calibration: CalibrationConstants = CalibrationConstants()
    earlier_job: EarlierJobConstants = EarlierJobConstants()
    opinions: OpinionConstants = OpinionConstants()
    features: FeatureConstants = FeatureConstants()
    newcomers: NewcomerConstants = NewcomerConstants()
    stages: StageConstants = StageConstants()
    order: OrderConstants = OrderConstants()
    copiers: CopierConstants = CopierConstants()
    pair: PairConstants = PairConstants()
    low_information: LowInformationConstants = LowInformationConstants()
    information: InformationConstants = InformationConstants()
    numbers: NumberConstants = NumberConstants()
    prices: PriceConstants = PriceConstants()


TUNED = DefaultConstants()
