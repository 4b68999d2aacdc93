"""The templates load as they are, show every field of their schemas, and all that they offer is valid."""

import json
import re

import pytest

from depl.instances.library import load, parse
from depl.instances.setups import parse_setup, setup_template
from depl.instances.template import template
from depl.models.estimation.setup import setup_schema
from depl.models.problem.instance import json_schema
from depl.models.problem.laws import Deterministic
from depl.models.problem.learning import ConstantImprovement

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
FITTED = (
    *("TracedLaw", "ObservedRun", "RecordedRun", "Stage"),
    *("FittedStep", "FittedJump", "RunFingerprint", "RunFingerprints"),
)
"""What ``depl fit`` and ``depl replan`` write, and nobody by hand."""


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


def test_the_template_loads_as_it_is_and_with_every_optional_field_in_use(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(template())
    assert load(path).name == "my-training"
    text, count = OPTIONAL.subn(r"\1\2", template())
    assert count == 7
    instance = parse(text)
    assert instance.target.initial_model == "full"
    assert instance.target.round_deadline == 5
    assert instance.models[0].compute is not None
    assert (instance.clusters[0].memory, instance.models[0].memory) == (16, 12)
    assert instance.datasets[0].clusters == ("edge", "cloud")
    assert instance.target.deployable == ("pruned",)


def test_the_template_of_a_setup_loads_as_it_is_and_with_every_optional_field_in_use():
    assert parse_setup(setup_template()).target.initial_loss is None
    text, count = OPTIONAL.subn(r"\1\2", setup_template().replace('"demand": 2\n', '"demand": 2,\n'))
    assert count == 6
    found = parse_setup(text)
    assert (found.target.initial_loss, found.target.round_deadline) == (3, 5)
    assert len(found.models[0].compute[0].epochs) == found.target.maximum_epochs
    law = ConstantImprovement(noise=Deterministic(value=1.0))
    fitted = found.with_improvements({model.name: law for model in found.models}, 3.0)
    assert fitted.target.deployable == ("pruned",)
    assert (fitted.clusters[0].memory, fitted.models[0].memory, fitted.models[1].memory) == (16, 12, None)


@pytest.mark.parametrize(("field", "text"), list(alternatives()))
def test_every_alternative_may_replace_the_value_of_the_field_above_it(field, text):
    document = json.loads(bare())
    *way, last = PLACES[field]
    place = document
    for step in way:
        place = place[step]
    place[last] = json.loads(text)
    assert parse(json.dumps(document)).fingerprint != parse(bare()).fingerprint


def test_every_field_and_kind_of_the_schemas_is_shown():
    assert {field for field, _ in alternatives()} == PLACES.keys()
    texts = [bare(), *(value for _, value in alternatives())]
    shown = [item for text in texts for item in objects(json.loads(text))]
    for name, definition in json_schema()["$defs"].items():
        properties = definition["properties"].copy()
        if name in FITTED:
            continue
        if name == "Instance":
            assert properties.pop("traced_law")
            assert properties.pop("run_fingerprints")
        enums = {key: value.get("enum", ()) for key, value in properties.items()}
        matching = [
            item
            for item in shown
            if set(definition.get("required", ())) <= item.keys() <= properties.keys()
            and all(item.get(key) == enum[0] for key, enum in enums.items() if len(enum) == 1)
        ]
        assert matching, name
        assert set().union(*matching) == properties.keys(), name
    fields = {
        name
        for kind, part in setup_schema()["$defs"].items()
        for name in part.get("properties", {})
        if not (kind == "ComputeTable" and name == "dataset")  # for several datasets
    }
    assert fields == set(re.findall(r'"(\w+)":', setup_template()))
