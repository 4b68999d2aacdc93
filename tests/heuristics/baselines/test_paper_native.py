"""Both native objects of the paper's words, of an instance, by one call each."""

import cvxpy
import pytest

import depl
from depl.heuristics.baselines.paper_data import data_choices
from depl.heuristics.baselines.paper_native import data_programs, embedding
from depl.models.problem.instance import Instance


def test_the_programs_of_stage_one_hold_the_set_that_the_method_begins_with(tiny: Instance) -> None:
    programs = data_programs(tiny)
    assert [(item.first, item.names) for item in programs] == [("archive", ("sensors",))]
    assert isinstance(programs[0].problem, cvxpy.Problem)
    assert programs[0].problem.is_dcp()
    # both datasets: K^ T^ = 0.45
    assert programs[0].problem.value * programs[0].unit == pytest.approx(0.45)
    assert programs[0].datasets == ("archive", "sensors")
    assert frozenset(programs[0].datasets) == next(data_choices(tiny)).datasets


def test_the_embedding_of_a_plan_has_its_models_as_functions_and_the_clusters_as_servers(
    tiny: Instance,
) -> None:
    plan = depl.solve(tiny, "depl-paper", options={"label": "normal"}).plan
    made = embedding(tiny, plan)
    assert [server.name for server in made.servers] == [place.name for place in tiny.clusters]
    assert set(made.functions) == {epoch.model for epoch in plan.epochs}
    assert all(made.requirements[name] > 0 for name in made.functions)


def test_one_dataset_leaves_no_program() -> None:
    assert data_programs(depl.load("paper-alexnet-13")) == ()
