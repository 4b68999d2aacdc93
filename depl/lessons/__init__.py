"""What the lessons in ``docs/lessons`` use: exercises that check themselves, and drawings.

A lesson is a plain script that imports by one line, ``from depl.lessons import *``. Its exercises are open
(``None``) until a reader fills them in; solutions are on a page of their own, and the tests fill them in,
together with typical mistakes.
"""

import importlib
from typing import Any

_NAMES = {
    "heuristics.data.problem": "selection_problem",
    "heuristics.data.select": "select_datasets",
    "heuristics.data.set_function": "selection_function",
    "heuristics.paper.data": "data_choices minimise",
    "heuristics.paper.models": "ExpandedGraph PaperLabel Rounding Selector steps_in_levels",
    "heuristics.paper.network": "cost_down cost_up",
    "heuristics.paper.resources": "EmbeddingProgram place_by_embedding",
    "heuristics.paths.additive_labels": "evar_quantile",
    "heuristics.paths.additive_problem": "additive_problem",
    "heuristics.placement.place": "place",
    "heuristics.placement.problem": "PlacementProblem",
    "heuristics.submodular.function": "Verdict exhaustive",
    "heuristics.submodular.submodularity": "random_search",
    "instances.counterexamples": "almost_one_level short_epochs",
    "instances.reductions.knapsack": "Knapsack best_by_capacity",
    "instances.reductions.partition": "partition_by_epoch",
    "instances.reductions.to_planning": "ByCost ByTime FreeResources",
    "instances.setups": "load_setup",
    "instances.training.recorded": "recorded_counterfactuals recorded_traces",
    "lessons.checking": "check",
    "lessons.drawing": "draw_allocations draw_choices draw_curves draw_instance draw_knapsacks draw_missed "
    "draw_plan draw_runs",
    "lessons.plans": "all_plans",
    "lessons.runs": "train write_log",
    "models.estimation.binomial": "design least_runs",
    "models.estimation.diagnosis": "diagnose",
    "models.estimation.setup": "Setup SetupModel SetupTarget",
    "models.evaluation.evaluate": "epoch_loads final_loss",
    "models.exact.choices": "build_plan",
    "models.problem.allocation": "allocate dual_bound",
    "models.problem.epochs": "FinalLoss Term",
    "models.problem.instance": "Cluster Dataset Instance Model Target",
    "models.problem.laws": "Empirical InverseGamma",
    "models.problem.learning": "ConstantImprovement LogDataLaw PowerDataLaw",
    "models.risk.certify": "certified_quantile certified_violation",
    "models.risk.contour": "choose_contour labels_of",
    "models.scenarios.draws": "allowed_misses count_misses draw_scenarios scenario_losses",
    "models.tool_logs.importing": "Choices import_logs",
    "showing.policies": "loss_at",
}
"""The names of each module that lessons use; ``help(name)`` says where it is from."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name at its first use, as the lesson needs it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"depl.{_HOMES[name]}"), name)
