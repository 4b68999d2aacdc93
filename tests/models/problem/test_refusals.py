"""What is refused in an instance or a plan (``bad_instances``): with its JSON path and its message."""

import json
import math
import re

import jsonschema
import msgspec
import pytest

from depl.instances import library, shipped
from depl.models.problem.instance import json_schema
from depl.models.problem.plan import Bounds, Claims, Plan, PlannedEpoch
from tests.cases.bad_instances import (
    BAD,
    BAD_NAMES,
    BAD_PLANS,
    BAD_TABLES,
    BAD_TRACES,
    CUT,
    LAW,
    NAMING,
    RUNS,
    TRACED,
    WHOLE,
    Bad,
    T,
    each,
    refused,
)
from tests.cases.documents import ABSENT, NUMBERS, RICH, build, put, read
from tests.problems import refusal, site


def read_plan(document):
    return Plan.from_json(json.dumps(document))


# --- instances -----------------------------------------------------------------------------------------


@each(BAD)
def test_bad_input_is_refused_with_its_json_path_and_in_python_too(bad):
    error = refused(read, RICH, bad)
    assert str(error).startswith(f"{error.path}: {error.message}")
    assert error.exit_code == 2
    if bad.place.isidentifier() and bad.message.startswith(("there is no", "is missing")):
        with pytest.raises(TypeError):  # arguments of the constructor itself are Python's business
            build(put(RICH, bad.place, bad.value))
        return
    refused(build, RICH, bad, root=".")


@pytest.mark.parametrize(("names", "bad"), BAD_TABLES)
def test_a_table_of_the_data_law_must_be_complete_and_may_not_grow(names, bad):
    lettered = put(RICH, "datasets", [{"name": name, "volume": 1} for name in names])
    refused(read, put(put(lettered, "transfers", []), "models[1].compute", ABSENT), bad)


def test_a_data_law_must_be_finite_for_the_smallest_dataset():
    steep = put(RICH, "data_law", {"type": "power", "p": 200})
    message = "K^ is not finite when only 'sensors' is used; lower a or p, or raise the volume"
    refused(read, steep, Bad("datasets[1].volume", 1e-3, message, "data_law"))


@pytest.mark.parametrize("path", NUMBERS)
def test_no_number_may_be_nan_or_infinite(path):
    for value in (math.nan, math.inf, -math.inf):
        error = refusal(build, put(RICH, path, value))
        expected = "Expected `(int|float)|must be a finite number, not .*; leave the field out for 'none'"
        assert (error.path, bool(re.match(expected, error.message))) == (f".{path}", True)


def test_priced_computing_needs_some_limit_of_time(steady):
    error = refusal(steady.replace, maximum_time=None)
    assert (error.path, "give maximum_time or round_deadline" in error.message) == (".target", True)
    idle = {"name": "net", "size": 1, "improvement": steady.models[0].improvement}
    for free in (
        {"clusters": [site(unit_cost=0)]},
        {"models": [{**idle, "compute": [{"epochs": [0] * 3}]}]},
        {"round_deadline": 2},
    ):
        assert steady.replace(maximum_time=None, **free).target.maximum_time is None
    busy = [{**idle, "compute": [{"epochs": [0, 0, 1]}]}]
    refusal(steady.replace, maximum_time=None, models=busy)


# --- traced laws ---------------------------------------------------------------------------------------


@each(BAD_TRACES)
def test_a_bad_traced_law_is_refused_with_its_place(bad):
    refused(read, TRACED, bad)
    refused(build, TRACED, bad, root=".")


@pytest.mark.parametrize(
    ("place", "value"),
    [("runs[1].losses[3]", 0.0), ("runs[0].losses[0]", -1.0), ("unseen_loss", 0.0), ("unseen_loss", -2.0)],
)
def test_only_positive_losses_have_logarithms(place, value):
    assert read(put(TRACED, f"{T}.scale", "log")).traced_law.deviations[0] < 0
    document = put(TRACED, f"{T}.{place}", value)
    assert read(document).traced_law is not None
    message = "only positive losses have logarithms; use the scale of the loss"
    refused(read, document, Bad(f"{T}.scale", "log", message, f"{T}.{place}"))


@each(
    [
        Bad(f"{T}.residuals", "independent", "keep residuals per_run, and give unseen_loss", f"{T}.diverged"),
        Bad(f"{T}.unseen_loss", None, "keep residuals per_run, and give unseen_loss", f"{T}.diverged"),
        Bad(f"{T}.diverged", 1001, "<= 1000"),
        Bad(f"{T}.diverged", -1, ">= 0"),
    ]
)
def test_runs_that_diverged_count_beside_whole_runs(bad):
    document = put(put(TRACED, f"{T}.residuals", "per_run"), f"{T}.diverged", 2)
    assert read(document).traced_law.beside == 3
    refused(read, document, bad)


@pytest.mark.parametrize(
    ("field", "there"),
    [("model", {"model": "third", "cluster": "edge"}), ("cluster", {"model": "full", "cluster": "cloud"})],
)
def test_rows_name_models_and_clusters_of_the_instance_of_which_runs_may_know_more(field, there):
    before, after_cut = ({f"previous_{key}": name for key, name in pair.items()} for pair in (there, CUT))
    stages = [{**pair, "epochs": 1} for pair in (there, CUT, there)]
    more = put(TRACED, f"{T}.runs", [*RUNS, {"stages": stages, "losses": [4.0, 3.0, 2.0, 1.0]}])
    assert read(more).traced_law is not None
    for kind, row, place in (
        ("steps", {**there, "first": True, "age": 1}, field),
        ("jumps", {**before, **CUT}, f"previous_{field}"),
        ("jumps", {**after_cut, **there}, field),
    ):
        rows = [*LAW[kind], {**row, "intercept": 0, "retention": 0.5}]
        error = refusal(read, put(more, f"{T}.{kind}", rows))
        assert error.path == f"$.{T}.{kind}[{len(rows) - 1}].{place}"
        assert f"{there[field]!r} is not defined" in error.message


# --- plans ---------------------------------------------------------------------------------------------


@each(BAD_PLANS)
def test_a_plan_that_cannot_be_read_is_refused(bad):
    refused(read_plan, WHOLE, bad)


@each(BAD_NAMES)
def test_a_plan_that_does_not_speak_of_the_instance_is_refused(tiny, bad):
    error = refused(lambda document: read_plan(document).check_names(tiny), NAMING, bad)
    assert error.message == bad.message


def test_a_plan_for_another_instance_is_refused_by_its_fingerprint(tiny, tiny_optimum):
    other = tiny.replace(maximum_loss=7)
    error = refusal(msgspec.structs.replace(tiny_optimum, instance=other.fingerprint).check_names, tiny)
    assert error.path == "$.instance"
    assert re.search(f"{other.fingerprint[:12]}.*{tiny.fingerprint[:12]}.*remove the field", error.message)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_plan_holds_finite_numbers_alone(value):
    assert refusal(PlannedEpoch, model="full", cluster="cloud", resources=value).path == ".resources"
    assert refusal(Claims, cost=value).path == ".cost"
    assert refusal(Bounds, lower=0, upper=value).path == ".upper"


# --- the published schema ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schema():
    published = json.loads(json.dumps(json_schema()))
    jsonschema.Draft202012Validator.check_schema(published)
    assert published["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    return jsonschema.Draft202012Validator(published)


def test_the_schema_accepts_every_shipped_instance(schema):
    """With two of the recorded runs, which all have the same fields, and one target each."""
    for entry in shipped.describe():
        content = json.loads(library.load(entry.name, *entry.targets[:1]).to_json())
        if "traced_law" in content:
            content["traced_law"]["runs"] = content["traced_law"]["runs"][:2]
        schema.validate(content)
    for document in (RICH, TRACED, put(TRACED, T, None)):
        schema.validate(document)
        schema.validate(json.loads(read(document).to_json()))


OURS = re.compile(
    "defined twice|not defined|give |has |does not|lost in|lie above|probability zero|overflow|below 1e-12|"
    "smaller variance|beyond what|may not|K\\^|leaves a|losses of at most|brings |printable|join the two|"
    "degree of freedom|groups of the cluster|have 1200000000|least age|the pool|or neither|no age below|"
    "is a jump|makes no jump|at least one epoch|nothing comes before"
)


@each([*BAD, *BAD_TRACES])
def test_the_schema_refuses_what_a_schema_can(schema, bad):
    """Types, bounds, patterns, unknown and missing fields; what spans several fields is ours to refuse."""
    document = put(TRACED if bad in BAD_TRACES else RICH, bad.place, bad.value)
    assert schema.is_valid(document) == (OURS.search(bad.message) is not None)


@pytest.mark.parametrize(
    ("field", "other", "message"),
    [
        ("format", "depl-plan", "a 'depl-instance' one is needed here"),
        ("version", 2, "which reads 1; update one of them"),
    ],
)
def test_a_file_of_another_kind_or_version_is_no_instance_nor_is_it_for_the_schema(
    schema, field, other, message
):
    document = put(RICH, field, other)
    assert message in refusal(read, document).message
    assert not schema.is_valid(document)
