"""A plan as data: what it says of an instance must make sense there, and it reads back as itself."""

import json
import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Bounds, Claims, ClusterData, Plan, PlannedEpoch
from tests.cases.documents import ABSENT, put


def refused(action: Callable[[], object]) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        action()
    return caught.value


def epoch(model: str = "full", cluster: str = "cloud", resources: float = 1.0) -> PlannedEpoch:
    return PlannedEpoch(model=model, cluster=cluster, resources=resources)


def given_to(cluster: str, *datasets: str) -> ClusterData:
    return ClusterData(cluster=cluster, datasets=datasets)


ON_CLOUD = (given_to("cloud", "archive"),)


@pytest.mark.parametrize(
    ("plan", "path", "message"),
    [
        (Plan(data=(given_to("moon", "archive"),)), "$.data[0].cluster", "no cluster 'moon'"),
        (Plan(data=ON_CLOUD * 2, epochs=(epoch(),)), "$.data[1].cluster", "'cloud' is listed twice"),
        (Plan(data=(given_to("cloud", "tape"),)), "$.data[0].datasets[0]", "no dataset 'tape'"),
        (
            Plan(data=(given_to("cloud", "archive", "archive"),), epochs=(epoch(),)),
            "$.data[0].datasets[1]",
            "'archive' is listed twice",
        ),
        (Plan(data=ON_CLOUD, epochs=(epoch(), epoch("huge"))), "$.epochs[1].model", "no model 'huge'"),
        (
            Plan(data=ON_CLOUD, epochs=(epoch(), epoch(cluster="moon"))),
            "$.epochs[1].cluster",
            "no cluster 'moon'",
        ),
        (
            Plan(data=ON_CLOUD, epochs=(epoch(), epoch(cluster="edge"))),
            "$.epochs[1].cluster",
            "cluster 'edge' has no data in $.data",
        ),
        (Plan(epochs=(epoch(),)), "$.epochs[0].cluster", "cluster 'cloud' has no data in $.data"),
        (
            Plan(data=(*ON_CLOUD, given_to("edge", "archive")), epochs=(epoch(),)),
            "$.data",
            "['edge'] get data but never train; remove them",
        ),
        (Plan(data=ON_CLOUD), "$.data", "['cloud'] get data but never train; remove them"),
    ],
)
def test_a_plan_that_does_not_speak_of_the_instance_is_refused(
    tiny: Instance, plan: Plan, path: str, message: str
) -> None:
    error = refused(lambda: plan.check_names(tiny))
    assert error.path == path
    assert error.message == f"{message}; correct the plan"


def test_a_plan_for_another_instance_is_refused_by_its_fingerprint(
    tiny: Instance, tiny_optimum: Plan
) -> None:
    other = tiny.replace(maximum_loss=7)
    error = refused(
        lambda: msgspec.structs.replace(tiny_optimum, instance=other.fingerprint).check_names(tiny)
    )
    assert error.path == "$.instance"
    assert other.fingerprint[:12] in error.message
    assert tiny.fingerprint[:12] in error.message
    assert "use that instance, or remove the field" in error.message


WHOLE: dict[str, Any] = {
    "format": "depl-plan",
    "version": 1,
    "instance": "0" * 64,
    "data": [{"cluster": "cloud", "datasets": ["archive"]}],
    "epochs": [{"model": "full", "cluster": "cloud", "resources": 3}],
    "claims": {
        "cost": 12,
        "training_time": 4.5,
        "violation": {"lower": 0.25, "upper": 0.25},
        "quantile": {"lower": None, "upper": 6.25},
        "cheapest_resources": True,
        "lower_bound": 11,
        "method": "guess",
    },
}


@pytest.mark.parametrize(
    ("place", "value", "path", "message"),
    [
        ("format", "depl-instance", "$.format", "a 'depl-plan' one is needed here"),
        ("version", 2, "$.version", "which reads 1; update one of them"),
        ("version", ABSENT, "$", "missing required field `version`"),
        ("colour", "red", "$", "unknown field `colour`"),
        ("data[0].datasets", [], "$.data[0].datasets", "Expected `array` of length >= 1"),
        ("data[0].cluster", "", "$.data[0].cluster", "Expected `str` of length >= 1"),
        ("data[0].datasets", ABSENT, "$.data[0]", "missing required field `datasets`"),
        ("epochs[0].resources", -1, "$.epochs[0].resources", "Expected `float` >= 0.0"),
        ("epochs[0].resources", "all", "$.epochs[0].resources", "Expected `float`, got `str`"),
        ("epochs[0].resources", ABSENT, "$.epochs[0]", "missing required field `resources`"),
        ("epochs[0].model", ABSENT, "$.epochs[0]", "missing required field `model`"),
        ("epochs[0].share", 1, "$.epochs[0]", "unknown field `share`"),
        ("claims.cost", "low", "$.claims.cost", "Expected `float | null`, got `str`"),
        ("claims.violation.upper", ABSENT, "$.claims.violation", "missing required field `upper`"),
        ("claims.profit", 1, "$.claims", "unknown field `profit`"),
    ],
)
def test_a_plan_that_cannot_be_read_is_refused(place: str, value: Any, path: str, message: str) -> None:
    error = refused(lambda: Plan.from_json(json.dumps(put(WHOLE, place, value))))
    assert error.path == path
    assert message in error.message


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_plan_holds_finite_numbers_alone(value: float) -> None:
    assert refused(lambda: epoch(resources=value)).path == ".resources"
    assert refused(lambda: Claims(cost=value)).path == ".cost"
    assert refused(lambda: Bounds(lower=0, upper=value)).path == ".upper"


def test_every_field_reads_back_as_itself() -> None:
    plan = Plan.from_json(json.dumps(WHOLE))
    assert plan.claims is not None
    assert plan.claims.quantile == Bounds(lower=None, upper=6.25)
    assert Plan.from_json(plan.to_json()) == plan
    assert json.loads(plan.to_json()) == WHOLE
    assert json.loads(Plan().to_json()) == {"format": "depl-plan", "version": 1}


names = st.sampled_from(["a", "b", "with blank", "é"])
numbers = st.floats(0, 1e308)  # results, so that subnormal numbers and great ones count as they are
bounds = st.builds(Bounds, lower=st.none() | st.floats(-1e300, 0), upper=st.none() | numbers)
optional = st.none() | numbers
plans = st.builds(
    Plan,
    instance=st.none() | st.text("0123456789abcdef", min_size=64, max_size=64),
    data=st.lists(st.builds(ClusterData, cluster=names, datasets=st.lists(names, min_size=1)), max_size=3),
    epochs=st.lists(st.builds(PlannedEpoch, model=names, cluster=names, resources=numbers), max_size=5),
    claims=st.none()
    | st.builds(
        Claims,
        cost=optional,
        training_time=optional,
        violation=st.none() | bounds,
        quantile=st.none() | bounds,
        cheapest_resources=st.none() | st.booleans(),
        lower_bound=optional,
        method=st.none() | names,
    ),
)


@given(plans)
def test_every_plan_reads_back_as_itself(plan: Plan) -> None:
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert hash(again) == hash(plan)
    assert again.to_json() == plan.to_json()
