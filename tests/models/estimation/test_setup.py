"""Setups: what they hold, what they refuse and where, their schema, and the instance that they become."""

import json

import jsonschema
import msgspec
import pytest

from depl.models.estimation.setup import Setup, setup_schema
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Deterministic
from depl.models.problem.learning import ConstantImprovement
from tests.cases.documents import ABSENT, put
from tests.cases.fit_cases import SETUP, setup
from tests.problems import refusal

STILL = ConstantImprovement(noise=Deterministic(value=0.5))
BOTH = {"full": STILL, "cut": STILL}


def test_an_instance_has_all_that_the_setup_has_and_a_setup_survives_its_own_json():
    found = setup().with_improvements(BOTH, 3.5)
    document = json.loads(found.to_json())
    for field in ("name", "description", "clusters", "datasets", "transfers", "provenance"):
        assert document[field] == SETUP[field]
    assert document["target"] == SETUP["target"] | {"initial_loss": 3.5}
    models = [(model.name, model.size, model.demand) for model in found.models]
    assert models == [("full", 4, 2), ("cut", 1, 1)]
    assert found.model("cut").improvement == STILL
    target = SETUP["target"] | {"initial_loss": 4, "round_deadline": 9}
    given = setup(target=target).with_improvements(BOTH, 3.5, name="other")
    assert (given.target.initial_loss, given.target.round_deadline, given.name) == (4, 9, "other")
    assert Setup.from_json(setup().to_json()) == setup()


def test_another_target_replaces_the_bound_alone():
    found = setup().replace_target(1.5)
    assert found.target == msgspec.structs.replace(setup().target, maximum_loss=1.5)
    assert found.replace_target(1.5) == found
    assert [row.path for row in found.provenance] == ["$", "$.target.maximum_loss"]
    assert {row.source for row in found.provenance} == {"assumed"}


@pytest.mark.parametrize(
    ("place", "value", "path", "message"),
    [
        ("format", "depl-instance", "$.format", "a 'depl-setup' one is needed"),
        ("version", 2, "$.version", "update one of them"),
        ("clusters[0].capacity", -1, "$.clusters[0].capacity", "> 0"),
        ("clusters[1].name", "edge", "$.clusters[1]", "defined twice"),
        ("models[0].improvement", {}, "$.models[0]", "unknown field"),
        ("models[1].name", "full", "$.models[1]", "defined twice"),
        ("models[0].compute", [{"epochs": [1]}], "$.models[0].compute[0].epochs", "one entry per epoch"),
        ("transfers[0].dataset", "none", "$.transfers[0].dataset", "not defined"),
        ("target.quantile_level", 1 - 1e-16, "$.target.quantile_level", "cannot be told from rounding"),
        ("target.initial_model", "full", "$.target", "unknown field"),
        ("datasets", [{"name": name, "volume": 1} for name in "ab"], "$.datasets", "give one dataset"),
    ],
)
def test_what_no_instance_could_have_is_refused_with_its_place(place, value, path, message):
    error = refusal(Setup.from_json, json.dumps(put(SETUP, place, value)))
    assert error.path == path
    assert message in error.message


def test_the_schema_accepts_a_setup_and_refuses_an_instance():
    schema = setup_schema()
    jsonschema.validate(SETUP, schema)
    instance: Instance = setup().with_improvements(BOTH, 3.5)
    for wrong in (json.loads(instance.to_json()), {**SETUP, "clusters": []}, {"name": "a"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_what_is_missing_points_to_the_fields_of_a_setup_not_of_an_instance():
    for missing in ("format", "name"):
        told = refusal(Setup.from_json, json.dumps(put(SETUP, missing, ABSENT))).message
        assert f"`{missing}`" in told
        assert "'depl instances schema --setup'" in told
    error = refusal(Setup.from_json, json.dumps(put(SETUP, "target.maximum_time", ABSENT)))
    assert error.path == "$.target"
    assert "give maximum_time or round_deadline" in error.message
