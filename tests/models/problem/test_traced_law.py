"""The traced law in an instance file: what is refused and where, round trips, schema, fingerprints."""

import json
from typing import Any

import jsonschema
import numpy as np
import pytest

from depl.instances import library
from depl.models.estimation.affine import fit_affine
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.affine_law import Scale
from depl.models.problem.instance import json_schema
from depl.models.problem.traced_law import traced_law
from tests.cases.documents import ABSENT, Document, build, put, read
from tests.cases.memory_cases import instance_of
from tests.models.estimation.test_affine import drawn

RUNS = [
    {
        "stages": [
            {"model": "full", "cluster": "edge", "epochs": 2},
            {"model": "cut", "cluster": "far", "epochs": 2},
        ],
        "losses": [2.0, 1.5, 1.25, 1.5 - 0.125 * index, 1.0],
    }
    for index in range(2)
]
LAW: Document = {
    "type": "affine",
    "runs": RUNS,
    "steps": [
        {"model": "full", "cluster": "edge", "first": True, "age": 1, "intercept": 0.5, "retention": 0.5},
        {
            "model": "full",
            "cluster": "edge",
            "first": True,
            "age": 2,
            "ages": [1, 2],
            "intercept": 0.25,
            "retention": 0.25,
        },
        {"model": "cut", "cluster": "far", "age": 2, "intercept": 0.25, "retention": 0, "start_slope": 0.5},
        {
            "model": "cut",
            "cluster": "far",
            "age": 2,
            "previous_model": "full",
            "previous_cluster": "edge",
            "intercept": 0.125,
            "retention": 0.5,
        },
    ],
    "jumps": [
        {
            "previous_model": "full",
            "previous_cluster": "edge",
            "model": "cut",
            "cluster": "far",
            "intercept": 1,
            "retention": 0.25,
            "pooled": True,
        }
    ],
    "residuals": "independent",
    "unseen_loss": 3.5,
    "deviations": [-0.125, 0.25],
}
TRACED: Document = {**json.loads(instance_of(None).to_json()), "traced_law": LAW}

T = "traced_law"
STEP, LATER, JUMP, RUN = f"{T}.steps[1]", f"{T}.steps[2]", f"{T}.jumps[0]", f"{T}.runs[1]"
BAD: list[tuple[str, Any, str, str | None]] = [
    (f"{T}.type", "quadratic", "Invalid value 'quadratic'", None),
    (f"{T}.colour", "red", "unknown field `colour`", T),
    (f"{T}.runs", [], "length >= 1", None),
    (f"{T}.steps", [], "length >= 1", None),
    (f"{T}.residuals", "together", "Invalid enum value 'together'", None),
    (f"{T}.scale", "square", "Invalid enum value 'square'", None),
    (f"{T}.unseen_loss", "much", "got `str`", None),
    (f"{T}.deviations[1]", None, "got `null`", None),
    (f"{T}.deviations[1]", 1e101, "beyond what double precision", None),
    (f"{RUN}.stages", [], "length >= 1", None),
    (f"{RUN}.stages[1].epochs", 0, ">= 1", None),
    (f"{RUN}.stages[1].epochs", 1_000_001, "<= 1000000", None),
    (f"{RUN}.stages[1].epochs", 1.5, "got `float`", None),
    (f"{RUN}.stages[1].model", " cut", "matching regex", None),
    (f"{RUN}.stages[1].cluster", ABSENT, "missing required field `cluster`", f"{RUN}.stages[1]"),
    (f"{RUN}.stages[0].epochs", 3, "has 5 entries for 5 epochs", f"{RUN}.losses"),
    (f"{RUN}.losses", [2.0, 1.0], "give l(0) and one loss per epoch", None),
    (f"{RUN}.losses", [], "length >= 1", None),
    (f"{RUN}.first_epoch", 2, "Invalid enum value 2", None),
    (f"{RUN}.losses[3]", 1e-101, "beyond what double precision", None),
    (f"{RUN}.stages[1]", {"model": "full", "cluster": "edge", "epochs": 2}, "join the two", None),
    (f"{STEP}.age", 0, ">= 1", None),
    (f"{STEP}.retention", -0.001, ">= 0", None),
    (f"{STEP}.retention", 1.0, "<= 0.99", None),
    (f"{STEP}.intercept", ABSENT, "missing required field `intercept`", STEP),
    (f"{STEP}.ages", [2, 1], "least age and then the greatest", None),
    (f"{STEP}.ages", [1, 1], "the pool holds the age of the step", None),
    (f"{STEP}.ages", [0, 2], ">= 1", f"{STEP}.ages[0]"),
    (f"{STEP}.ages", [1, 2, 3], "length 2", None),
    (f"{STEP}.previous_model", "cut", "or neither", None),
    (f"{STEP}.age", 1, "defined twice", STEP),
    (f"{LATER}.ages", [1, 2], "no age below 2", None),
    (f"{LATER}.ages", [3, 4], "the pool holds the age of the step", None),
    (f"{LATER}.age", 1, "is a jump; list it there", None),
    (f"{LATER}.age", 3, "at least one epoch of a run in its pool", LATER),
    (f"{LATER}.cluster", "cloud", "at least one epoch of a run in its pool", LATER),
    (f"{LATER}.previous_cluster", "edge", "or neither", f"{LATER}.previous_model"),
    (f"{T}.steps[3].first", True, "nothing comes before a first stage", f"{T}.steps[3].previous_model"),
    (f"{T}.steps[3].previous_cluster", "far", "at least one epoch of a run", f"{T}.steps[3]"),
    (f"{JUMP}.model", "full", "at least one epoch of a run in its pool", JUMP),
    (f"{JUMP}.retention", 1, "<= 0.99", None),
    (f"{T}.jumps", [LAW["jumps"][0], LAW["jumps"][0]], "defined twice", f"{T}.jumps[1]"),
    ("target.initial_model", "full", "give one dataset, no data law and no initial model", None),
    ("data_law", {"type": "power", "p": 0.5}, "give one dataset, no data law", None),
    (
        "datasets",
        [{"name": "data", "volume": 1}, {"name": "more", "volume": 1}],
        "give one dataset",
        None,
    ),
]
NAMES = [f"{place} = {'absent' if value is ABSENT else value}"[:90] for place, value, _, _ in BAD]


def refused(make: Any, document: Document) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        make(document)
    return caught.value


@pytest.mark.parametrize(("place", "value", "message", "path"), BAD, ids=NAMES)
def test_bad_input_is_refused_with_its_json_path(
    place: str, value: Any, message: str, path: str | None
) -> None:
    document = put(TRACED, place, value)
    for make, root in ((read, "$."), (build, ".")):
        error = refused(make, document)
        assert message in error.message
        assert error.path == f"{root}{place if path is None else path}"


@pytest.mark.parametrize(
    ("place", "value"),
    [("runs[1].losses[3]", 0.0), ("runs[0].losses[0]", -1.0), ("unseen_loss", 0.0), ("unseen_loss", -2.0)],
)
def test_only_positive_losses_have_logarithms(place: str, value: float) -> None:
    document = put(TRACED, f"{T}.{place}", value)
    assert read(document).traced_law is not None
    error = refused(read, put(document, f"{T}.scale", "log"))
    assert "only positive losses have logarithms; use the scale of the loss" in error.message
    assert error.path == f"$.{T}.{place}"


@pytest.mark.parametrize(
    ("field", "value", "place", "message"),
    [
        ("residuals", "independent", f"{T}.diverged", "keep residuals per_run, and give unseen_loss"),
        ("unseen_loss", None, f"{T}.diverged", "keep residuals per_run, and give unseen_loss"),
        ("diverged", 1001, f"{T}.diverged", "<= 1000"),
        ("diverged", -1, f"{T}.diverged", ">= 0"),
    ],
)
def test_runs_that_diverged_count_beside_whole_runs(field: str, value: Any, place: str, message: str) -> None:
    document = put(put(TRACED, f"{T}.residuals", "per_run"), f"{T}.diverged", 2)
    assert read(document).traced_law.counting.beside == 3  # type: ignore[union-attr]
    error = refused(read, put(document, f"{T}.{field}", value))
    assert message in error.message
    assert error.path == f"$.{place}"


def test_deviations_of_logarithms_may_be_negative() -> None:
    law = read(put(TRACED, f"{T}.scale", "log")).traced_law
    assert law is not None
    assert law.deviations[0] < 0


def test_a_jump_to_where_it_comes_from_is_refused() -> None:
    here = {"previous_model": "cut", "previous_cluster": "far"}
    error = refused(read, put(TRACED, JUMP, {**LAW["jumps"][0], **here}))
    assert "makes no jump" in error.message
    assert error.path == f"$.{JUMP}"


@pytest.mark.parametrize(("field", "name"), [("model", "third"), ("cluster", "cloud")])
@pytest.mark.parametrize("prefix", ["", "previous_"])
@pytest.mark.parametrize("row", ["steps[3]", "jumps[0]"])
def test_rows_name_models_and_clusters_of_the_instance(row: str, prefix: str, field: str, name: str) -> None:
    """The runs have what the row says, the instance does not."""
    known = "cut" if field == "model" else "far"
    if prefix:
        known = "full" if field == "model" else "edge"
    text = json.dumps(LAW).replace(f'"{field}": "{known}"', f'"{field}": "{name}"')
    changed = json.loads(text)
    for rows in (changed["steps"], changed["jumps"]):
        for item in rows:
            if item.get(f"previous_{field}") == known:
                item[f"previous_{field}"] = name
    if prefix:  # only what the row says came before is unknown to the instance
        changed["steps"] = [item for item in changed["steps"] if not item.get("first")]
        if row.startswith("jumps"):
            changed["steps"] = [item for item in changed["steps"] if "previous_model" not in item]
    error = refused(read, put(TRACED, T, changed))
    assert f"{name!r} is not defined" in error.message
    if prefix:
        where = 1 if row.startswith("steps") else 0
        assert error.path == f"$.{T}.{row.split('[')[0]}[{where}].previous_{field}"
    else:
        assert error.path.startswith(f"$.{T}.steps[")
        assert error.path.endswith(f".{field}")


def test_runs_may_know_more_than_the_instance_offers() -> None:
    more = {"stages": [{"model": "third", "cluster": "cloud", "epochs": 1}], "losses": [1.0, 0.5]}
    assert read(put(TRACED, f"{T}.runs", [*RUNS, more])).traced_law is not None


@pytest.mark.parametrize("scale", ["loss", "log"])
def test_a_fitted_law_becomes_a_document_and_comes_back_as_the_same_law(scale: Scale) -> None:
    law = fit_affine(drawn(12, 0.1, np.random.default_rng(0)), least=20, scale=scale)
    document = traced_law(law, "independent", 7.0, (0.5, -0.5))
    assert (document.residuals, document.unseen_loss, document.deviations) == (
        "independent",
        7.0,
        (0.5, -0.5),
    )
    again = document.law
    assert again.scale == document.scale == scale
    assert {key: row.coefficients for key, row in again.rows.items()} == {
        key: row.coefficients for key, row in law.rows.items()
    }
    assert any(row.ages is not None for row in document.steps)
    for one, other in zip(law.records, again.records, strict=True):
        assert one.positions == other.positions
        np.testing.assert_array_equal(one.residuals, other.residuals)
    for key, step in law.rows.items():
        np.testing.assert_array_equal(np.sort(step.residuals), np.sort(again.rows[key].residuals))
        assert (step.losses, step.runs) == (again.rows[key].losses, again.rows[key].runs)


# --- fingerprint and schema ------------------------------------------------------------------------------

OLD_FINGERPRINTS = {
    ("tiny", None): "7190d094920a2395c9c88045cac74ed80fb021547375ae136547aae73ea28103",
    ("paper-alexnet", 5): "b55244ea7e76a37b0c8abda33f6cc19e5f02b8afa81f17b0c8281e63eda6d6d9",
    ("paper-mobilenet", 5): "4a5a0f8a38d55f18d219451453ecc3883144eb3567d49d3bd8a72aedce3ecb88",
}
"""From before instances could have a traced law."""


@pytest.mark.parametrize(("name", "target"), OLD_FINGERPRINTS)
def test_instances_without_a_traced_law_have_the_fingerprint_they_had(
    name: str, target: float | None
) -> None:
    assert library.load(name, target).fingerprint == OLD_FINGERPRINTS[name, target]


def test_the_schema_describes_the_law() -> None:
    published = json.loads(json.dumps(json_schema()))
    jsonschema.Draft202012Validator.check_schema(published)
    schema = jsonschema.Draft202012Validator(published)
    schema.validate(TRACED)
    schema.validate(json.loads(read(TRACED).to_json()))
    schema.validate(put(TRACED, T, None))
    for place, value in (
        (f"{T}.type", "quadratic"),
        (f"{T}.colour", 1),
        (f"{T}.residuals", "together"),
        (f"{STEP}.retention", 1.0),
        (f"{STEP}.retention", -1.0),
        (f"{STEP}.ages", [1]),
        (f"{JUMP}.previous_model", ABSENT),
        (f"{RUN}.losses", []),
        (f"{RUN}.first_epoch", 2),
        (f"{RUN}.stages[0].epochs", 0),
    ):
        assert not schema.is_valid(put(TRACED, place, value)), place
