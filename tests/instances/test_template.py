"""The template loads as it is, shows every field of the schema, and everything that it offers is valid."""

import json
import re

import pytest

from depl.instances.library import load, parse
from depl.instances.template import template
from depl.models.problem.instance import Instance, json_schema

ALTERNATIVE = re.compile(r"^ *// or: (.*(?:\n *//     .*)*)", re.MULTILINE)
OPTIONAL = re.compile(r'^( *)// ("\w+": .*)$', re.MULTILINE)
PLACES = {  # field: where its alternatives belong
    "clusters": ("clusters",),
    "compute": ("models", 0, "compute"),
    "noise": ("models", 0, "improvement", "noise"),
    "improvement": ("models", 0, "improvement"),
    "law": ("switches", 0, "law"),
    "data_law": ("data_law",),
}


def alternatives():
    """The field above, at the same indentation, and the text of every alternative."""
    for match in ALTERNATIVE.finditer(template()):
        indent = re.match(" *", match[0])[0]
        fields = re.findall(rf'^{indent}(?:// )?"(\w+)":', template()[: match.start()], re.MULTILINE)
        yield fields[-1], re.sub(r"\n *//", "\n", match[1])


def bare():
    """The template with its optional fields in use and all other comments removed."""
    text = OPTIONAL.sub(r"\1\2", template())
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))


def objects(value):
    """Every JSON object inside a value."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(item)


def test_the_template_loads_as_it_is(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(template())
    assert load(path).name == "my-training"
    assert isinstance(parse(template()), Instance)


def test_the_template_stays_valid_with_every_optional_field_in_use():
    text, count = OPTIONAL.subn(r"\1\2", template())
    assert count == 7
    instance = parse(text)
    assert instance.target.initial_model == "full"
    assert instance.target.round_deadline == 5
    assert instance.models[0].compute is not None
    assert (instance.clusters[0].memory, instance.models[0].memory) == (16, 12)
    assert instance.datasets[0].clusters == ("edge", "cloud")
    assert instance.target.deployable == ("pruned",)


@pytest.mark.parametrize(("field", "text"), list(alternatives()))
def test_every_alternative_may_replace_the_value_of_the_field_above_it(field, text):
    document = json.loads(bare())
    *way, last = PLACES[field]
    place = document
    for step in way:
        place = place[step]
    place[last] = json.loads(text)
    assert parse(json.dumps(document)).fingerprint != parse(bare()).fingerprint


def test_the_alternatives_cover_every_field_that_has_some():
    assert {field for field, _ in alternatives()} == PLACES.keys()


def test_every_field_and_kind_of_the_schema_is_shown_in_the_template():
    shown = [
        item
        for text in [bare(), *(value for _, value in alternatives())]
        for item in objects(json.loads(text))
    ]
    # which depl fit writes, and depl replan
    fitted = {
        "TracedLaw",
        "ObservedRun",
        "RecordedRun",
        "Stage",
        "FittedStep",
        "FittedJump",
        "RunFingerprint",
        "RunFingerprints",
    }
    for name, definition in json_schema()["$defs"].items():
        properties = definition["properties"].copy()
        if name in fitted:
            continue
        if name == "Instance":
            assert properties.pop("traced_law")
            assert properties.pop("run_fingerprints")
        constants = {key: value["enum"][0] for key, value in properties.items() if is_constant(value)}
        matching = [
            item
            for item in shown
            if item.keys() <= properties.keys()
            and set(definition.get("required", ())) <= item.keys()
            and all(item.get(key) == constant for key, constant in constants.items())
        ]
        assert matching, name
        assert set().union(*matching) == properties.keys(), name


def is_constant(definition):
    return len(definition.get("enum", ())) == 1


def test_every_field_is_explained_before_it_is_first_used():
    """Each of the fields that carry a unit or a symbol has a comment line directly above it."""
    lines = template().splitlines()
    for field in (
        "capacity",
        "bandwidth",
        "unit_cost",
        "nodes",
        "volume",
        "work",
        "transfers",
        "size",
        "demand",
        "scale",
        "offset",
        "noise",
        "switches",
        "law",
        "other_switches",
        "data_law",
        "initial_loss",
        "maximum_loss",
        "quantile_level",
        "maximum_epochs",
        "maximum_time",
        "provenance",
    ):
        first = next(index for index, line in enumerate(lines) if re.match(rf' *"{field}":', line))
        assert lines[first - 1].lstrip().startswith("// "), field
    for symbol in (
        *("r(n)", "b(n)", "kappa(n)", "q(d)", "beta(d, n)", "s(m)", "c(k, m, D)", "A_m", "B_m"),
        *("l_sw", "l_run", "K^(Q)", "l(0)", "l_max", "omega", "K_max", "T_max", "tau"),
    ):
        assert symbol in template(), symbol
