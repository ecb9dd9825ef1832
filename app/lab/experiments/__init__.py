"""The papers' figures and tables, run by our own engine: one file per paper, one name per figure."""

from app.lab.experiments import cost_sensitive_tables, crowdbudget
from app.lab.experiments.finding import Experiment

_GAO = (
    "Gao, Liu, Ooi, Wang, Chen: An Online Cost Sensitive Decision-Making Method in Crowdsourcing Systems, SIGMOD 2013"
)
_TRAN_THANH = (
    "Tran-Thanh, Venanzi, Rogers, Jennings: Efficient Budget Allocation with Accuracy Guarantees for Crowdsourcing "
    "Classification Tasks, AAMAS 2013"
)

EXPERIMENTS = (
    Experiment(
        "cost-sensitive-table-2",
        "what votes tell of one answer and of the result, under two priors and two fixed accuracies",
        _GAO,
        cost_sensitive_tables.table_2,
    ),
    Experiment(
        "crowdbudget-figure-1",
        "the two bounds on the error per task, as printed and mended, beside the error itself",
        _TRAN_THANH,
        crowdbudget.figure_1,
        seeds=20,
        quick_seeds=2,
    ),
)

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
