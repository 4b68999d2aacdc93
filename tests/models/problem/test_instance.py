"""An instance knows itself by content; it and a plan read back as themselves; units change nothing.

What is refused is tabled in ``test_refusals``.
"""

import json
import math
import re
from fractions import Fraction

import jsonschema
import msgspec
import pytest

from depl.models.problem import laws
from depl.models.problem.instance import (
    Cluster,
    Dataset,
    Instance,
    InverseLogDataLaw,
    LogDataLaw,
    PowerDataLaw,
    SubsetEpochs,
    TableDataLaw,
    json_schema,
)
from depl.models.problem.plan import Claims, Plan, PlannedEpoch
from depl.models.problem.units import Units
from tests.cases.bad_instances import FAST, SLOW, WHOLE
from tests.cases.documents import ABSENT, RICH, put, read
from tests.problems import datasets, drawn, site, student

# --- identity by content -------------------------------------------------------------------------------


SCHEMA = jsonschema.Draft202012Validator(json_schema())


@pytest.mark.parametrize(
    "other",
    [
        put(RICH, "name", "poor"),
        put(RICH, "description", ABSENT),
        put(RICH, "provenance", []),
        put(RICH, "run_fingerprints", {"unit": 0.5, "runs": [{"name": "run0", "losses": "AbC/"}]}),
    ],
    ids=["name", "description", "provenance", "fingerprints"],
)
def test_what_does_not_change_the_problem_does_not_change_its_fingerprint(other):
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
def test_a_default_counts_the_same_whether_it_is_written_or_not(path, default):
    written, left_out = read(put(RICH, path, default)), read(put(RICH, path, ABSENT))
    assert written == left_out
    assert hash(written) == hash(left_out)
    assert written.fingerprint == left_out.fingerprint != read(RICH).fingerprint


# --- variants ------------------------------------------------------------------------------------------


def test_replace_reaches_the_target_and_leaves_the_original_alone(tiny):
    before = tiny.fingerprint
    changed = tiny.replace(name="other", maximum_loss=7, maximum_time=6)
    assert (changed.name, changed.target.maximum_loss, changed.target.maximum_time) == ("other", 7, 6)
    assert (tiny.target.maximum_loss, tiny.fingerprint) == (6.5, before)
    assert changed.fingerprint != before
    target = msgspec.structs.replace(tiny.target, maximum_loss=1)
    both = tiny.replace(target=target, maximum_epochs=2).target
    assert both == msgspec.structs.replace(target, maximum_epochs=2)


def test_replace_forgets_what_was_derived_from_the_original():
    first = read(RICH)
    assert first.learning_factor(frozenset({"sensors"})) == pytest.approx(math.sqrt(2 / 5))
    assert first.workload(frozenset({"archive", "sensors"})) == 3
    assert first.cluster("edge").capacity == 4
    second = first.replace(data_law=None, clusters=[site("edge", capacity=5)])
    doubled = first.replace(datasets=[Dataset(name=item.name, volume=5, work=6) for item in first.datasets])
    assert doubled.workload(frozenset({"archive", "sensors"})) == 12
    assert second.learning_factor(frozenset({"sensors"})) == 1
    assert second.cluster("edge").capacity == 5


# --- what is looked up ---------------------------------------------------------------------------------


def test_pairs_that_are_not_listed_take_the_default():
    instance = read(RICH)
    assert instance.transfer_cost("archive", "edge") == 2
    assert instance.transfer_cost("archive", "cloud") == 0
    assert instance.switch_law("full", "pruned") == student(5, 0.3, 0.1, 0.1, 0.6)
    assert instance.switch_law("tabled", "full") == instance.other_switches
    assert instance.may_follow("full", "pruned")
    assert not instance.may_follow("pruned", "full")
    assert instance.may_follow(None, "full")
    assert instance.may_follow("pruned", "pruned")
    assert instance.dataset("sensors").workload == 1
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
def test_less_data_leave_the_part_of_an_improvement_that_the_data_law_says(steady, law, expected):
    instance = steady.replace(datasets=datasets(a=1, b=3), data_law=law)
    assert instance.learning_factor(frozenset("ab")) == 1
    assert instance.learning_factor(frozenset("a")) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("digits", [f"0.{'9' * count}{last}" for count in range(13) for last in "59"])
def test_the_violation_budget_is_exact_in_the_decimals_that_were_written(steady, digits):
    budget = steady.replace(quantile_level=float(digits)).target.violation_budget
    assert budget == 1 - Fraction(digits)
    assert Fraction(1 - float(digits)) != budget or digits == "0.5"


# --- reading back --------------------------------------------------------------------------------------


def test_every_law_and_shape_reads_back_as_itself():
    kinds = set()
    for instance in drawn([49, 4], 25, maximum_epochs=(2, 3)):
        text = instance.to_json()
        again = Instance.from_json(text)
        assert again == instance
        assert hash(again) == hash(instance)
        assert (again.fingerprint, again.to_json()) == (instance.fingerprint, text)
        SCHEMA.validate(json.loads(text))
        kinds |= set(re.findall('"(?:type|shape)": "([a-z_]+)"', text))
    built_in = {kind.__struct_config__.tag for kind in laws.BUILT_IN} - {"undeclared"}
    assert kinds >= built_in | {"inverse_sqrt", "constant", "table", "log", "inverse_log", "power"}


def test_groups_of_unequal_nodes_are_written_and_read_back(tiny):
    unequal = tiny.replace(clusters=(Cluster(name="cloud", groups=[FAST, SLOW]), tiny.clusters[1]))
    written = json.loads(unequal.to_json())
    bare = put(written, "clusters[0]", {"name": "cloud", "groups": [FAST, SLOW]})
    for document in (written, bare):
        SCHEMA.validate(document)
        assert read(document) == unequal
        assert read(document).fingerprint == unequal.fingerprint != tiny.fingerprint
    assert "groups" not in json.loads(tiny.to_json())["clusters"][1]


def test_every_field_of_a_plan_reads_back_as_itself_whatever_the_size_of_its_numbers():
    whole = Plan.from_json(json.dumps(WHOLE))
    assert json.loads(whole.to_json()) == WHOLE
    assert json.loads(Plan().to_json()) == {"format": "depl-plan", "version": 1}
    for resources, cost in ((5e-324, 1e308), (0.1, 0.0)):
        epoch = PlannedEpoch(model="with blank", cluster="é", resources=resources)
        plan = Plan(epochs=(epoch,), claims=Claims(cost=cost))
        assert Plan.from_json(plan.to_json()) == plan
        assert hash(Plan.from_json(plan.to_json())) == hash(plan)


# --- units: names that change nothing but what is shown ------------------------------------------------

NAMED = Units(cost="EUR", time="h", resource="GPU", data="GB", size="MB", memory="GiB")


def test_units_change_no_fingerprint(tiny):
    named = tiny.replace(units=NAMED)
    assert named.fingerprint == tiny.fingerprint
    assert named != tiny
    assert Instance.from_json(named.to_json()).units == NAMED
