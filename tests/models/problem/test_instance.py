"""An instance knows itself by content, validates every variant, and reads back as itself.

What it refuses is tabled in test_problem_refusals.
"""

import functools
import hashlib
import json
import math
import re
from fractions import Fraction
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import (
    Cluster,
    ComputeTable,
    ConstantImprovement,
    DataLaw,
    Dataset,
    Improvement,
    Instance,
    InverseLogDataLaw,
    InverseSqrtImprovement,
    LogDataLaw,
    Model,
    PowerDataLaw,
    SubsetEpochs,
    Switch,
    TableDataLaw,
    TabledImprovement,
    Target,
    Transfer,
    json_schema,
)
from depl.models.problem.laws import (
    Deterministic,
    Empirical,
    Forbidden,
    ImprovementLaw,
    InverseGamma,
    Lognormal,
    Normal,
    StudentT,
    SwitchLaw,
    Zero,
)
from tests.cases.documents import ABSENT, NUMBERS, RICH, Document, look, put, read

# --- identity by content -------------------------------------------------------------------------------


def reordered(value: Any) -> Any:
    """The same JSON with the keys of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


def as_floats(value: Any) -> Any:
    """The same JSON with every number that may be one written as a float."""
    if isinstance(value, dict):
        whole = {"version", "nodes", "maximum_epochs"}
        return {key: item if key in whole else as_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_floats(item) for item in value]
    return float(value) if isinstance(value, int) else value


SCHEMA = jsonschema.Draft202012Validator(json_schema())

DEFAULTS = {
    "clusters[1].nodes": 1,
    "datasets[1].work": None,
    "models[0].compute": None,
    "models[2].demand": 1.0,
    "models[2].improvement.epochs[0].scale": 1,
    "models[2].improvement.epochs[2].noise.weights": [1, 3],
    "other_switches.lower": None,
    "other_switches.upper": None,
}


@pytest.mark.parametrize(
    "other",
    [
        reordered(RICH),
        as_floats(RICH),
        functools.reduce(lambda document, item: put(document, *item), DEFAULTS.items(), RICH),
        put(RICH, "name", "poor"),
        put(RICH, "description", ABSENT),
        put(RICH, "provenance", []),
        put(RICH, "run_fingerprints", {"unit": 0.5, "runs": [{"name": "run0", "losses": "AbC/"}]}),
    ],
    ids=["key order", "floats", "explicit defaults", "name", "description", "provenance", "fingerprints"],
)
def test_what_does_not_change_the_problem_does_not_change_its_fingerprint(other: Document) -> None:
    assert read(other).fingerprint == read(RICH).fingerprint
    assert re.fullmatch("[0-9a-f]{64}", read(other).fingerprint)


@pytest.mark.parametrize(
    ("path", "default"),
    [
        ("other_switches", {"type": "zero"}),
        ("data_law", None),
        ("transfers", []),
        ("switches", []),
        ("data_law.a", 1.0),
        ("data_law.base_volume", 0),
        ("data_law.base_volume", -0.0),
        ("models[0].improvement.offset", 0.0),
        ("models[0].demand", 1),
        ("clusters[0].nodes", 1),
        ("target.initial_model", None),
        ("target.round_deadline", None),
    ],
)
def test_a_default_counts_the_same_whether_it_is_written_or_not(path: str, default: Any) -> None:
    written, left_out = read(put(RICH, path, default)), read(put(RICH, path, ABSENT))
    assert written == left_out
    assert hash(written) == hash(left_out)
    assert written.fingerprint == left_out.fingerprint != read(RICH).fingerprint


@pytest.mark.parametrize("path", NUMBERS)
def test_every_number_of_the_problem_changes_its_fingerprint(path: str) -> None:
    value = look(RICH, path)
    integer = path.endswith(("nodes", "maximum_epochs"))
    changed = read(put(RICH, path, value + 1 if integer else value * 1.01 if value else 0.01))
    assert changed.fingerprint != read(RICH).fingerprint
    assert changed != read(RICH)


def test_the_fingerprint_is_the_hash_of_the_sorted_document_without_name_and_notes() -> None:
    instance = read(RICH)
    bare = msgspec.structs.replace(instance, name="-", description="", provenance=())
    written = msgspec.json.encode(bare, order="sorted")
    assert instance.fingerprint == hashlib.sha256(written).hexdigest()


def test_an_instance_is_frozen_and_can_be_a_key(tiny: Instance) -> None:
    with pytest.raises(AttributeError):
        tiny.name = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        tiny.target.maximum_loss = 0.0  # type: ignore[misc]
    again = Instance.from_json(tiny.to_json())
    assert again is not tiny
    assert len({tiny, again, tiny.replace(maximum_loss=7)}) == 2


# --- variants ------------------------------------------------------------------------------------------


def test_replace_reaches_the_target_and_leaves_the_original_alone(tiny: Instance) -> None:
    before = tiny.fingerprint
    changed = tiny.replace(name="other", maximum_loss=7, maximum_time=6)
    assert (changed.name, changed.target.maximum_loss, changed.target.maximum_time) == ("other", 7, 6)
    assert changed.fingerprint != before
    assert (tiny.target.maximum_loss, tiny.fingerprint) == (6.5, before)
    target = Target(initial_loss=1, maximum_loss=1, quantile_level=0.5, maximum_epochs=0, maximum_time=1)
    assert tiny.replace(target=target, maximum_epochs=2).target == msgspec.structs.replace(
        target, maximum_epochs=2
    )


def test_replace_forgets_what_was_derived_from_the_original() -> None:
    first = read(RICH)
    assert first.learning_factor(frozenset({"sensors"})) == pytest.approx(math.sqrt(2 / 5))
    assert first.workload(frozenset({"archive", "sensors"})) == 3
    assert first.cluster("edge").capacity == 4
    second = first.replace(
        data_law=None, clusters=[Cluster(name="edge", capacity=5, bandwidth=1, unit_cost=1)]
    )
    doubled = first.replace(datasets=[Dataset(name=item.name, volume=5, work=6) for item in first.datasets])
    assert doubled.workload(frozenset({"archive", "sensors"})) == 12
    assert second.learning_factor(frozenset({"sensors"})) == 1
    assert second.cluster("edge").capacity == 5


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"maximum_loss": math.nan}, ".target.maximum_loss"),
        ({"quantile_level": 1}, ".target.quantile_level"),
        ({"quantile_level": 1 - 1e-16}, ".target.quantile_level"),
        ({"maximum_time": None}, ".target"),
        ({"initial_model": "none"}, ".target.initial_model"),
        ({"clusters": ()}, ".clusters"),
        ({"name": ""}, ".name"),
        ({"other_switches": "zero"}, ".other_switches"),
    ],
)
def test_replace_validates_again(tiny: Instance, changes: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        tiny.replace(**changes)
    assert caught.value.path == path


# --- what is looked up ---------------------------------------------------------------------------------


def test_pairs_that_are_not_listed_take_the_default() -> None:
    instance = read(RICH)
    assert instance.transfer_cost("archive", "edge") == 2
    assert instance.transfer_cost("archive", "cloud") == 0
    assert instance.switch_law("full", "pruned") == StudentT(
        degrees_of_freedom=5, location=0.3, scale=0.1, lower=0.1, upper=0.6
    )
    assert instance.switch_law("tabled", "full") == instance.other_switches
    assert instance.may_follow("full", "pruned")
    assert not instance.may_follow("pruned", "full")
    assert instance.may_follow(None, "full")
    assert instance.may_follow("pruned", "pruned")
    assert instance.dataset("archive").workload == 2
    assert instance.dataset("sensors").workload == 1
    assert instance.workload(frozenset({"archive", "sensors"})) == 3
    assert instance.workload(frozenset({"sensors"})) == 1
    assert [instance.model(name).last_epoch for name in ("full", "pruned", "tabled")] == [math.inf, 5, 5]


@pytest.mark.parametrize(
    ("law", "expected"),
    [  # volumes a = 1, b = 3: K^({a, b}) / K^({a})
        (None, 1),
        (LogDataLaw(a=5, b=2), (5 - 2 * math.log(4)) / 5),
        (LogDataLaw(a=5, b=2, base_volume=1), (5 - 2 * math.log(5)) / (5 - 2 * math.log(2))),
        (InverseLogDataLaw(a=7), math.log(2) / math.log(5)),
        (InverseLogDataLaw(base_volume=2), math.log(4) / math.log(7)),
        (PowerDataLaw(p=0.5, a=3), 1 / 2),
        (PowerDataLaw(p=2, base_volume=1), 4 / 25),
        (PowerDataLaw(p=0), 1),
        (
            TableDataLaw(
                subsets=[
                    SubsetEpochs(datasets=["a"], epochs=8),
                    SubsetEpochs(datasets=["b", "a"], epochs=6),
                    SubsetEpochs(datasets=["b"], epochs=7),
                ]
            ),
            6 / 8,
        ),
    ],
)
def test_less_data_leave_the_part_of_an_improvement_that_the_data_law_says(
    steady: Instance, law: DataLaw | None, expected: float
) -> None:
    datasets = (Dataset(name="a", volume=1), Dataset(name="b", volume=3))
    instance = steady.replace(datasets=datasets, data_law=law)
    assert instance.learning_factor(frozenset("ab")) == 1
    assert instance.learning_factor(frozenset("a")) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("digits", [f"0.{'9' * count}{last}" for count in range(13) for last in "59"])
def test_the_violation_budget_is_exact_in_the_decimals_that_were_written(
    steady: Instance, digits: str
) -> None:
    budget = steady.replace(quantile_level=float(digits)).target.violation_budget
    assert budget == 1 - Fraction(digits)
    assert Fraction(1 - float(digits)) != budget or digits == "0.5"


# --- reading back --------------------------------------------------------------------------------------

positive = st.floats(1e-6, 1e6)
nonnegative = st.just(0.0) | positive
real = st.just(0.0) | positive | positive.map(lambda size: -size)
light_laws = st.one_of(
    st.builds(Normal, mean=real, variance=positive),
    st.builds(Deterministic, value=real),
    st.builds(Empirical, values=st.lists(real, min_size=1, max_size=4)),
    st.lists(st.tuples(real, positive), min_size=1, max_size=4).map(
        lambda rows: Empirical(values=[row[0] for row in rows], weights=[row[1] for row in rows])
    ),
)
heavy_laws = st.one_of(
    st.builds(InverseGamma, shape=st.floats(1.01, 1e6), scale=positive),
    st.builds(InverseGamma, mean=st.floats(0.1, 10), variance=positive),
    st.builds(Lognormal, log_mean=st.integers(-5, 5), log_variance=st.floats(1e-6, 20)),
    st.builds(Lognormal, mean=st.floats(0.1, 10), variance=positive),
)
improvement_laws: st.SearchStrategy[ImprovementLaw] = light_laws | heavy_laws
switch_laws: st.SearchStrategy[SwitchLaw] = st.one_of(
    light_laws,
    st.builds(Zero),
    st.builds(Forbidden),
    st.builds(StudentT, degrees_of_freedom=st.floats(1.1, 50), location=st.integers(-9, 9), scale=positive),
    st.builds(
        lambda degrees, location, scale, below, above: StudentT(
            degrees_of_freedom=degrees,
            location=location,
            scale=scale,
            lower=location - below * scale,
            upper=location + above * scale,
        ),
        st.floats(0.1, 50),
        real,
        st.floats(0.01, 9),
        st.floats(0.1, 9),
        st.floats(0.1, 9),
    ),
)
constants = st.builds(ConstantImprovement, scale=real, noise=light_laws) | st.builds(
    ConstantImprovement, scale=positive, noise=heavy_laws
)
improvements: st.SearchStrategy[Improvement] = st.one_of(
    constants,
    st.builds(
        InverseSqrtImprovement,
        scale=positive,
        offset=st.floats(0.1, 9).map(lambda x: x - 1),
        noise=improvement_laws,
    ),
    st.builds(TabledImprovement, epochs=st.lists(constants, min_size=3, max_size=4)),
)
data_laws: st.SearchStrategy[DataLaw | None] = st.one_of(
    st.none(),
    st.builds(LogDataLaw, a=st.floats(10, 20), b=st.just(0.0) | st.floats(0.1, 0.5), base_volume=nonnegative),
    st.builds(InverseLogDataLaw, a=positive, base_volume=nonnegative),
    st.builds(PowerDataLaw, p=st.just(0.0) | st.floats(0.1, 9), a=positive, base_volume=nonnegative),
    positive.map(lambda epochs: TableDataLaw(subsets=[SubsetEpochs(datasets=["data"], epochs=epochs)])),
)
tables = st.none() | st.lists(nonnegative, min_size=3, max_size=5).map(
    lambda epochs: (ComputeTable(epochs=epochs),)
)


@settings(max_examples=40)
@given(improvement=improvements, switch=switch_laws, other=switch_laws, data_law=data_laws, compute=tables)
def test_every_law_and_shape_reads_back_as_itself(
    steady: Instance,
    improvement: Improvement,
    switch: SwitchLaw,
    other: SwitchLaw,
    data_law: DataLaw | None,
    compute: tuple[ComputeTable, ...] | None,
) -> None:
    instance = steady.replace(
        models=(Model(name="net", size=0, improvement=improvement, compute=compute), *_second_model(steady)),
        switches=(Switch(previous="net", following="second", law=switch),),
        other_switches=other,
        data_law=data_law,
        transfers=(Transfer(dataset="data", cluster="site", cost=1),),
    )
    again = Instance.from_json(instance.to_json())
    assert again == instance
    assert again.fingerprint == instance.fingerprint
    assert again.to_json() == instance.to_json()
    SCHEMA.validate(json.loads(instance.to_json()))


def _second_model(instance: Instance) -> tuple[Model, ...]:
    return (msgspec.structs.replace(instance.models[0], name="second"),)
