"""What each printed step loses: measured from an attempt's own decisions, tabled suite by suite."""

import math

import msgspec
import pytest

import depl
from depl.benchmarks.report.printed_steps import printed_steps_table
from depl.benchmarks.suites.printed_steps import printed_steps
from depl.benchmarks.suites.sizes import growing
from depl.benchmarks.suites.suite import Draw
from depl.models.problem.instance import Cluster, Dataset, Instance, Model, Target
from depl.models.problem.laws import Deterministic
from depl.models.problem.learning import ConstantImprovement
from tests.cases.report_cases import attempt_of

NET = Model(name="net", size=1, improvement=ConstantImprovement(noise=Deterministic(value=1)))
# one epoch on each cluster costs 16 / 1.2, both on slow 4 / .2, which is what an embedding rounds to
PAIR = Instance(
    name="pair",
    clusters=(
        Cluster(name="slow", capacity=100, bandwidth=1, unit_cost=1),
        Cluster(name="quick", capacity=10, bandwidth=1e12, unit_cost=9),
    ),
    datasets=(Dataset(name="data", volume=1),),
    models=(NET,),
    target=Target(initial_loss=10, maximum_loss=8, quantile_level=0.9, maximum_epochs=2, maximum_time=2.2),
)
# one epoch is put on slow, where sending takes longer than T_max; two fit on quick
LATE = PAIR.replace(
    clusters=(
        Cluster(name="slow", capacity=1000, bandwidth=1, unit_cost=1),
        Cluster(name="quick", capacity=2000, bandwidth=1e9, unit_cost=100),
    ),
    models=(Model(name="wide", size=1, improvement=ConstantImprovement(noise=Deterministic(value=3))),),
    maximum_epochs=4,
    maximum_time=0.9,
)


def measured(instance: Instance, method: str = "depl-paper", **options: str):
    result = depl.solve(instance, method, options=options)
    return printed_steps(Draw("one", {}, lambda: instance), instance, result)


def test_a_rounded_embedding_is_compared_with_the_cheapest_placement_of_its_models() -> None:
    assert measured(PAIR) == {
        "data_over_best": pytest.approx(1.0),
        "placement_over_best": pytest.approx(20 / (16 / 1.2)),
        "placements_late": 0.0,
    }


def test_paths_that_were_given_up_in_stage_three_are_counted() -> None:
    found = measured(LATE)
    assert found["placements_late"] == 1
    assert found["placement_over_best"] == pytest.approx(1.0)


def test_the_set_of_stage_one_is_compared_with_the_least_of_all() -> None:
    instance = next(draw.build() for draw in growing("datasets", (16,)))
    assert measured(instance, backtracks=0)["data_over_best"] == pytest.approx(1.0105, abs=1e-4)


def test_other_methods_and_attempts_without_a_plan_have_nothing_to_compare() -> None:
    assert measured(PAIR, "fastest-cluster") == {}
    found = measured(PAIR.replace(maximum_loss=1.0))
    assert found["placement_over_best"] is None
    met = measured(PAIR.replace(initial_loss=7.0))
    assert met == {"data_over_best": None, "placement_over_best": None, "placements_late": 0.0}


def test_the_table_counts_what_is_above_one() -> None:
    def attempt(name: str, **measures: float | None):
        row = attempt_of(name, "depl-paper", suite="random", cost=1.0)
        return msgspec.structs.replace(row, measures=measures)

    rows = [
        attempt("one", data_over_best=1.0, placement_over_best=1.5, placements_late=2.0),
        attempt("two", data_over_best=1.2, placement_over_best=None, placements_late=1.0),
        attempt_of("two", "depl", suite="random", cost=1.0),
    ]
    table = printed_steps_table(rows)
    (row,) = (dict(zip(table.columns, values, strict=True)) for values in table.rows)
    assert (row["suite"], row["configuration"]) == ("random", "depl-paper")
    assert (row["data_compared"], row["data_missed"], row["data_largest"]) == (2, 1, 1.2)
    assert math.isclose(row["data_mean"], 1.1)
    assert (row["placements_compared"], row["placement_missed"], row["placements_late"]) == (1, 1, 3)
    assert printed_steps_table(rows[2:]).rows == ()
