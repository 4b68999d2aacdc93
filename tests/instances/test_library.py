"""Shipped instances say what they claim to say; names, aliases, targets and files are found or refused."""

import functools
import itertools
import json
import math

import msgspec
import pytest

from depl.instances import shipped as files
from depl.instances.library import Family, load, parse
from depl.instances.shipped import describe, names, strip_comments
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import Forbidden, StudentT, Zero

TARGETS = ("5", "7", "9", "11", "13")
TABLE = {  # Table I: expected loss improvement, its variance, normalised needed resources
    "alexnet": {
        "fast-unsteady": (1.02, 0.031, 2.6),
        "intermediate": (1.00, 0.010, 1.4),
        "slow-steady": (0.98, 0.007, 1),
    },
    "mobilenet": {
        "fast-unsteady": (1.02, 0.029, 1.8),
        "intermediate": (0.95, 0.012, 1.0),
        "slow-steady": (0.92, 0.006, 0.6),
    },
}
PRINTED = {  # everything else that the text of Sec. VI-B prints
    "$.clusters[0].capacity": {100},
    "$.clusters[0].unit_cost": {1},
    "$.clusters[1].capacity": {50},
    "$.clusters[1].unit_cost": {1.2},
    "$.target.quantile_level": {0.99},
    "$.target.maximum_loss": {5, 9, 13},
}


def every_instance():
    return [(entry.name, target) for entry in describe() for target in entry.targets or (None,)]


def leaves(value, path="$"):
    """(path, number) of every number in a JSON value, the document's version aside."""
    if isinstance(value, dict):
        for key, item in value.items():
            if (path, key) not in {("$", "version"), ("$", "provenance")}:
                yield from leaves(item, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    elif isinstance(value, int | float):
        yield path, value


def source(sources, path):
    """That of the longest path that covers ``path``."""
    ends = [len(path), *(place for place in range(len(path) - 1, 0, -1) if path[place] in ".[")]
    found = [sources[path[:end]] for end in ends if path[:end] in sources]
    assert found, f"{path} has no provenance"
    return found[0]


shipped = functools.cache(load)


@functools.cache
def numbers(name, target):
    """(path, number, source) of every number of a shipped instance."""
    instance = shipped(name, target)
    sources = {row.path: row.source for row in instance.provenance}
    assert len(sources) == len(instance.provenance)
    return [(path, value, source(sources, path)) for path, value in leaves(msgspec.to_builtins(instance))]


def test_every_file_is_an_instance_with_a_name_and_those_of_the_paper_have_its_targets():
    assert {entry.name: entry.targets for entry in describe()} == {
        name: TARGETS if name.startswith("paper") else () for name in names()
    }
    shipped_files = {path.name for path in files._FOLDER.iterdir() if path.is_file()}
    assert shipped_files == {f"{name}.json" for name in names()}


@pytest.mark.parametrize(("name", "target"), every_instance())
def test_every_number_of_every_shipped_instance_has_a_provenance_and_those_of_the_paper_are_its(name, target):
    instance = shipped(name, target)
    again = parse(instance.to_json())
    assert (again, again.fingerprint) == (instance, instance.fingerprint)
    table = TABLE["mobilenet" if "mobilenet" in name else "alexnet"]
    assert len(numbers(name, target)) > 10
    flagged = {path: value for path, value, flag in numbers(name, target) if flag == "paper"}
    for path, value in flagged.items():
        if path.startswith("$.models["):
            model = instance.models[int(path[len("$.models[")])]
            column = ("mean", "variance", "demand").index(path.rpartition(".")[2])
            assert value == table[model.name][column], path
        else:
            assert value in PRINTED[path], path
    assert len(flagged) >= 10 if name.startswith("paper") else not flagged
    assert ("$.target.maximum_loss" in flagged) == (target in ("5", "9", "13"))


@pytest.mark.parametrize("name", [name for name in names() if name.startswith("paper")])
def test_only_a_more_pruned_model_may_follow_unless_the_family_switches(name):
    instance = load(name, 5)
    for (i, first), (j, second) in itertools.permutations(enumerate(instance.models), 2):
        law = instance.switch_law(first.name, second.name)
        if name == "paper-alexnet-switching":
            assert isinstance(law, StudentT)
            assert law.moments() == pytest.approx((0.3, 0.01), rel=1e-12)
        else:
            assert isinstance(law, Zero if i < j else Forbidden)


@pytest.mark.parametrize("name", ["paper-alexnet-deadline", "paper-alexnet-deadline-normal"])
def test_the_decay_of_the_deadline_families_has_mean_one_over_thirty_epochs(name):
    instance = load(name, 5)
    for model in instance.models:
        coefficients = [model.improvement.at(epoch)[0] for epoch in range(1, 31)]
        assert math.fsum(coefficients) / 30 == pytest.approx(1, rel=1e-14)
        mean, variance, needed = TABLE["alexnet"][model.name]
        assert model.improvement.noise.moments() == (mean / 2, variance)
        assert model.demand == needed
    longest = int(instance.target.maximum_time / (instance.models[0].size / instance.clusters[0].bandwidth))
    assert instance.target.maximum_epochs == longest


def test_an_alias_carries_its_target_and_a_single_instance_takes_any():
    assert load("paper-alexnet-9") == load("paper-alexnet", 9) == load("paper-alexnet", "9.0")
    assert load("paper-alexnet-9").name == "paper-alexnet-9"
    assert load("paper-alexnet-deadline-normal-13").target.maximum_time == 16
    assert load("paper-alexnet-9", 9.0) == load("paper-alexnet-9")
    loose = load("tiny", 7.25)
    assert loose.target.maximum_loss == 7.25
    assert loose.name == "tiny-7.25"
    assert loose.fingerprint == load("tiny").replace(maximum_loss=7.25).fingerprint
    assert load("tiny-7.25") == loose


def test_files_are_read_by_path(tmp_path):
    """What cannot be read or is unknown is refused in the tests of the commands."""
    path = tmp_path / "mine.json"
    path.write_text("// a comment\n" + load("tiny").to_json())
    assert load(path) == load(str(path)) == load("tiny")


def test_a_shipped_name_wins_over_a_file_unless_a_path_is_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").write_text(load("tiny").replace(maximum_loss=1).to_json())
    (tmp_path / "other").write_text(load("tiny").replace(maximum_loss=1).to_json())
    assert load("tiny").target.maximum_loss == 6.5
    assert load("./tiny").target.maximum_loss == 1
    assert load("other").target.maximum_loss == 1


def family_text(targets):
    tiny = json.loads(load("tiny").to_json())
    return json.dumps({"format": "depl-family", "version": 1, "instance": tiny, "targets": targets})


def test_a_family_of_the_users_own_chooses_every_field_of_its_targets():
    family = parse(
        family_text({"6.5": {"maximum_loss": 6.5}, "8": {"maximum_loss": 8, "quantile_level": 0.5}})
    )
    assert isinstance(family, Family)
    assert family.at(8).target.quantile_level == 0.5
    assert family.at("6.5").target.quantile_level == 0.7
    assert parse(family_text({"8": {"maximum_loss": 8}})).at(None).target.maximum_loss == 8


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({}, r"\$\.targets"),
        ({"9": {"maximum_loss": 8}}, r"\$\.targets: the key '9' must be the value of maximum_loss, 8"),
        ({"8": {"maximum_loss": 8, "maximum_tme": 3}}, r'\$\.targets\["8"\]\.maximum_tme'),
        ({"8": {"maximum_loss": 8, "maximum_time": 0}}, r'\$\.targets\["8"\]\.maximum_time'),
        (
            {"8": {"maximum_loss": 8, "maximum_epochs": 9}},
            r"target '8' makes an invalid instance: .*compute",
        ),
    ],
)
def test_families_that_contradict_themselves_are_refused(targets, message):
    document = json.loads(family_text(targets))
    document["instance"]["models"][0]["compute"] = [{"epochs": [4, 4, 4]}]
    with pytest.raises(InvalidInputError, match=message):
        parse(json.dumps(document))


def test_comments_keep_the_line_numbers_and_the_strings():
    text = '// first\n{"a": "x // y",\n  // second\n"b": 1}'
    assert strip_comments(text) == '\n{"a": "x // y",\n\n"b": 1}'
