"""Everything that is refused in an instance (``bad_instances``): with its JSON path and its message."""

import json
import math
import re
from typing import Any

import jsonschema
import pytest

from depl.instances import library
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Cluster, Instance, json_schema
from tests.cases.bad_instances import BAD, DATA_TABLES, Bad, letters
from tests.cases.documents import ABSENT, NUMBERS, RICH, Document, build, put, read

NAMED = [(bad, f"{bad.place} = {'absent' if bad.value is ABSENT else bad.value}"[:90]) for bad in BAD]


def refused(make: Any, document: Document) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        make(document)
    return caught.value


@pytest.mark.parametrize("bad", [bad for bad, _ in NAMED], ids=[name for _, name in NAMED])
def test_bad_input_is_refused_with_its_json_path_and_what_to_do(bad: Bad) -> None:
    path = f"$.{bad.place if bad.path is None else bad.path}".rstrip(".")
    error = refused(read, put(RICH, bad.place, bad.value))
    assert bad.message in error.message
    assert error.path == path
    assert str(error) == f"{path}: {error.message}"
    assert error.exit_code == 2


@pytest.mark.parametrize("bad", [bad for bad, _ in NAMED], ids=[name for _, name in NAMED])
def test_bad_input_is_refused_in_python_as_it_is_in_json(bad: Bad) -> None:
    document = put(RICH, bad.place, bad.value)
    if "." not in bad.place and "[" not in bad.place and bad.message.startswith(("contains", "missing")):
        with pytest.raises(TypeError, match=rf"(?i)(unexpected|missing required).*{bad.place}"):
            build(document)  # arguments of the constructor itself are Python's own business
        return
    error = refused(build, document)
    assert bad.message in error.message
    assert error.path == f".{bad.place if bad.path is None else bad.path}"


@pytest.mark.parametrize(("names", "law", "path", "message"), DATA_TABLES)
def test_a_table_of_the_data_law_must_be_complete_and_may_not_grow(
    names: str, law: Document, path: str, message: str
) -> None:
    error = refused(read, letters(put(RICH, "data_law", law), names))
    assert error.path == f"$.data_law{path}"
    assert message in error.message


def test_a_data_law_must_be_finite_for_the_smallest_dataset() -> None:
    steep = put(RICH, "data_law", {"type": "power", "p": 200})
    error = refused(read, put(steep, "datasets[1].volume", 1e-3))
    assert str(error) == (
        "$.data_law: K^ is not finite when only 'sensors' is used; lower a or p, or raise the volume"
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("path", NUMBERS)
def test_no_number_may_be_nan_or_infinite(path: str, value: float) -> None:
    error = refused(build, put(RICH, path, value))
    assert error.path == f".{path}"
    expected = "Expected `(int|float)|must be a finite number, not .*; leave the field out for 'none'"
    assert re.match(expected, error.message)
    error = refused(read, put(RICH, path, value))  # JSON has no way to write such a number
    assert "not a JSON document: JSON is malformed" in error.message


@pytest.mark.parametrize("digits", ["1e400", "-1e400", "1" + 400 * "0"])
def test_a_number_that_does_not_fit_into_a_double_is_refused_when_read(digits: str) -> None:
    text = json.dumps(RICH).replace('"capacity": 10', f'"capacity": {digits}')
    with pytest.raises(InvalidInputError, match="Number out of range") as caught:
        Instance.from_json(text)
    assert caught.value.path == "$.clusters[0].capacity"


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("", "$", "not a JSON document"),
        ("name: rich", "$", "not a JSON document"),
        ("null", "$", "Expected `object`, got `null`"),
        ("{}", "$", "missing required field `format`"),
        ('{"format": "depl-plan", "version": 1}', "$.format", "a 'depl-instance' one is needed here"),
        ('{"format": "depl-instance"}', "$", "missing required field `version`"),
        ('{"format": "depl-instance", "version": 2}', "$.version", "which reads 1; update one of them"),
        ('{"format": "depl-instance", "version": "1"}', "$.version", "Expected `int`, got `str`"),
        (
            '{"format": "depl-instance", "version": 1, "x": ' + 10**5 * "[",
            "$",
            "nested too deeply to be read",
        ),
        ('{"format": "depl-instance", "version": 1, "x": ' + 10**5 * '{"x":', "$", "nested too deeply"),
    ],
)
def test_a_file_that_is_no_instance_is_refused(text: str, path: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Instance.from_json(text)
    assert caught.value.path == path
    assert message in caught.value.message


def test_priced_computing_needs_some_limit_of_time(steady: Instance) -> None:
    with pytest.raises(InvalidInputError, match="give maximum_time or round_deadline") as caught:
        steady.replace(maximum_time=None)
    assert caught.value.path == ".target"
    free = [Cluster(name="site", capacity=10, bandwidth=2, unit_cost=0)]
    assert steady.replace(maximum_time=None, clusters=free).target.maximum_time is None
    idle = [
        {
            "name": "net",
            "size": 1,
            "improvement": steady.models[0].improvement,
            "compute": [{"epochs": [0] * 3}],
        }
    ]
    assert steady.replace(maximum_time=None, models=idle).target.maximum_time is None
    busy = [{**idle[0], "compute": [{"epochs": [0, 0, 1]}]}]
    with pytest.raises(InvalidInputError, match="give maximum_time or round_deadline"):
        steady.replace(maximum_time=None, models=busy)
    assert steady.replace(maximum_time=None, round_deadline=2).target.round_deadline == 2


# --- the published schema ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schema() -> jsonschema.protocols.Validator:
    published = json.loads(json.dumps(json_schema()))
    jsonschema.Draft202012Validator.check_schema(published)
    return jsonschema.Draft202012Validator(published)


@pytest.mark.parametrize("runs", [2, pytest.param(None, marks=pytest.mark.slow)])
def test_the_schema_accepts_every_shipped_instance(
    schema: jsonschema.protocols.Validator, runs: int | None
) -> None:
    """By default with as many of the recorded runs, which all have the same fields."""
    for entry in library.describe():
        for target in entry.targets or (None,):
            content = json.loads(library.load(entry.name, target).to_json())
            if "traced_law" in content:
                content["traced_law"]["runs"] = content["traced_law"]["runs"][:runs]
            schema.validate(content)
    schema.validate(RICH)


OURS = "defined twice|not defined|give |has |does not|lost in|lie above|probability zero|overflow|below 1e-12"
OURS += "|smaller variance|beyond what|may not|needs more|K\\^|leaves a|losses of at most"


@pytest.mark.parametrize("bad", [bad for bad, _ in NAMED], ids=[name for _, name in NAMED])
def test_the_schema_refuses_what_a_schema_can(schema: jsonschema.protocols.Validator, bad: Bad) -> None:
    """Types, bounds, patterns, unknown and missing fields; what spans several fields is ours to refuse."""
    spans_fields = re.search(OURS, bad.message) is not None
    assert schema.is_valid(put(RICH, bad.place, bad.value)) == spans_fields


@pytest.mark.parametrize("field", ["format", "version"])
def test_the_schema_wants_what_the_reader_wants(schema: jsonschema.protocols.Validator, field: str) -> None:
    assert not schema.is_valid(put(RICH, field, ABSENT))
    assert not schema.is_valid(put(RICH, field, "other"))
    refused(read, put(RICH, field, ABSENT))
    assert json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
