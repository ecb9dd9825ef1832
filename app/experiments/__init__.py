"""Figures and tables of the papers, repeated with our engine: modules are named by paper and figure."""

from app.experiments import (
    cost_sensitive_figure_4,
    cost_sensitive_figures,
    cost_sensitive_table_2,
    cost_sensitive_table_3,
    crowdbudget_figures,
    how_many_workers_figure_5,
    how_many_workers_figure_6,
    how_many_workers_figure_8,
    how_many_workers_figures_3_4,
    optimistic_kg_features,
    optimistic_kg_figures,
    requallo_figure_2,
    requallo_figure_3,
    requallo_figures,
)
from app.experiments.experiment import Experiment

_GAO = (
    "Gao, Liu, Ooi, Wang, Chen: An Online Cost Sensitive Decision-Making Method in Crowdsourcing Systems, SIGMOD 2013"
)
_TRAN_THANH = (
    "Tran-Thanh, Venanzi, Rogers, Jennings: Efficient Budget Allocation with Accuracy Guarantees for Crowdsourcing "
    "Classification Tasks, AAMAS 2013"
)

_LI = "Li, Ma, Gao, Su, Quinn: Crowdsourcing High Quality Labels with a Tight Budget, WSDM 2016"
_ABRAHAM = (
    "Abraham, Alonso, Kandylas, Patel, Shelford, Slivkins: How Many Workers to Ask? Adaptive Exploration for "
    "Collecting High Quality Labels, SIGIR 2016"
)

_CHEN = (
    "Chen, Lin, Zhou: Optimistic Knowledge Gradient Policy for Optimal Budget Allocation in Crowdsourcing, ICML 2013"
)

EXPERIMENTS = (
    Experiment(
        "requallo-figure-1",
        "items with three labels, and their accuracy, by budget: two Requallo policies and four others",
        _LI,
        requallo_figures.figure_1,
        needs=("rte",),
        seeds=10,
        quick_seeds=2,
    ),
    Experiment(
        "requallo-figure-2",
        "the same on many more answers, until budgets are ample",
        _LI,
        requallo_figure_2.figure_2,
        needs=("millionaire",),
        seeds=10,
        quick_seeds=2,
    ),
    Experiment(
        "requallo-table-3",
        "what six requirements cost until all items are done, and the accuracy then",
        _LI,
        requallo_figures.table_3,
        needs=("millionaire",),
        seeds=20,
        quick_seeds=2,
    ),
    Experiment(
        "requallo-figure-3",
        "the quality of a classifier that is trained on the labels that each policy bought",
        _LI,
        requallo_figure_3.figure_3,
        needs=("splice",),
        seeds=10,
        quick_seeds=2,
    ),
    Experiment(
        "how-many-workers-figure-3",
        "stopping at a lead, compared with a fixed number of labels, simulated",
        _ABRAHAM,
        how_many_workers_figures_3_4.figure_3,
        seeds=2,
    ),
    Experiment(
        "how-many-workers-figure-4",
        "stopping at a lead, compared with a fixed number of labels, recorded answers",
        _ABRAHAM,
        how_many_workers_figures_3_4.figure_4,
        needs=("rte",),
        seeds=100,
        quick_seeds=5,
    ),
    Experiment(
        "how-many-workers-figure-5",
        "the same with four classes, and compared with EM on a fixed number of labels",
        _ABRAHAM,
        how_many_workers_figure_5.figure_5,
        needs=("adult2",),
        seeds=10,
    ),
    Experiment(
        "how-many-workers-figure-6",
        "votes weighted by the tier of their worker",
        _ABRAHAM,
        how_many_workers_figure_6.figure_6,
    ),
    Experiment(
        "how-many-workers-figure-8",
        "asking the workers with the best record, compared with random workers",
        _ABRAHAM,
        how_many_workers_figure_8.figure_8,
    ),
    Experiment(
        "opt-kg-figure-2",
        "accuracy by budget, simulated: Opt-KG, two Gittins indices, KG and random; chosen and random pairs",
        _CHEN,
        optimistic_kg_figures.figure_2,
        seeds=20,
        quick_seeds=2,
    ),
    Experiment(
        "opt-kg-figure-3",
        "the same on recorded answers",
        _CHEN,
        optimistic_kg_figures.figure_3,
        needs=("rte",),
        seeds=5,
    ),
    Experiment(
        "opt-kg-section-5",
        "accuracy by labels per item of jobs that learn from features, and of jobs that do not",
        _CHEN,
        optimistic_kg_features.section_5,
        needs=("splice",),
        seeds=4,
    ),
    Experiment(
        "cost-sensitive-table-2",
        "the accuracy of one answer and of the result given votes, under two priors and two fixed accuracies",
        _GAO,
        cost_sensitive_table_2.table_2,
    ),
    Experiment(
        "cost-sensitive-table-3",
        "the share of answers whose question is still open, by the size of a HIT: dispatched and at random",
        _GAO,
        cost_sensitive_table_3.table_3,
        seeds=10,
    ),
    Experiment(
        "cost-sensitive-figure-4",
        "the least value of an answer at which a crowd pays, by the loss of a wrong one",
        _GAO,
        cost_sensitive_figure_4.figure_4,
    ),
    Experiment(
        "cost-sensitive-figure-5",
        "workers for a given accuracy, and accuracy for a given number of workers (Figure 6): four algorithms",
        _GAO,
        cost_sensitive_figures.figure_5,
        also=("cost-sensitive-figure-6",),
    ),
    Experiment(
        "cost-sensitive-figure-11",
        "the accuracy of these algorithms where questions are harder than they assume",
        _GAO,
        cost_sensitive_figures.figure_11,
    ),
    Experiment(
        "cost-sensitive-figure-12",
        "workers needed if the spread of the difficulty, or its mean (Figure 13), is not as assumed",
        _GAO,
        cost_sensitive_figures.figure_12,
        also=("cost-sensitive-figure-13",),
    ),
    Experiment(
        "cost-sensitive-figure-14",
        "how long it takes to compute a strategy",
        _GAO,
        cost_sensitive_figures.figure_14,
    ),
    Experiment(
        "crowdbudget-figure-1",
        "the two bounds on the error per task, as printed and corrected, beside the error itself",
        _TRAN_THANH,
        crowdbudget_figures.figure_1,
        seeds=20,
        quick_seeds=2,
    ),
    Experiment(
        "crowdbudget-figure-2",
        "the error of three ways to split a budget over 700 tasks of four prices",
        _TRAN_THANH,
        crowdbudget_figures.figure_2,
        seeds=10,
        quick_seeds=2,
    ),
    Experiment(
        "crowdbudget-figure-3",
        "the same over 100 tasks, by their difficulty",
        _TRAN_THANH,
        crowdbudget_figures.figure_3,
        seeds=10,
        quick_seeds=2,
    ),
)

BY_NAME = {name: experiment for experiment in EXPERIMENTS for name in (experiment.name, *experiment.also)}
