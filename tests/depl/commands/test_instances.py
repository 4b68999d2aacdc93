"""``depl instances``: what is listed, shown, drawn, described and handed out."""

import json
from pathlib import Path

import jsonschema
import pytest

from depl.commands.instances import FAMILIES
from depl.instances.library import load, names
from depl.models.problem.instance import Instance
from tests.cases.documents import RICH, put


def test_the_list_names_every_shipped_instance_and_its_targets(ask):
    code, out, err = ask("instances", "list")
    assert (code, err) == (0, "")
    listed = {line.split("|")[0].strip(): line.split("|")[1].split() for line in out.splitlines()[2:]}
    assert set(listed) == set(names())
    assert listed["paper-alexnet"] == ["5", "7", "9", "11", "13"]


@pytest.mark.parametrize("name", names())
def test_every_shipped_instance_can_be_shown(ask, name):
    code, out, err = ask("instances", "show", name)
    assert code == 0
    for title in ("Target", "Clusters", "Datasets", "Models", "Where the values come from"):
        assert f"\n{title}" in out
    assert ("choose another one with --target" in err) == name.startswith("paper")


def test_unequal_nodes_are_shown_and_what_each_commits_is_told(ask, tmp_path):
    document = json.loads(load("tiny").to_json())
    each = {"capacity": 4, "bandwidth": 4, "unit_cost": 1}
    document["clusters"][0] = {"name": "cloud", "groups": [{**each, "count": 3, "speed": 2}, each]}
    path = tmp_path / "unequal.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    code, shown, _ = ask("instances", "show", path)
    assert code == 0
    rows = [[cell.strip() for cell in line.split("|")] for line in shown.splitlines()]
    assert ["cloud", "4", "4", "4", "0.625"] in rows  # (3 / 2 + 1) / 4 is the mean cost
    assert ["cloud", "3", "2", "4", "4", "1"] in rows
    assert ["cloud", "1", "1", "4", "4", "1"] in rows
    code, solved, _ = ask("solve", path, "--method", "exact", "--explain")
    assert code == 0
    assert "Unequal nodes  each commits x(k) / v" in solved
    assert "Nodes that differ" not in ask("instances", "show", "tiny")[1]


def test_a_shown_instance_as_json_is_the_instance(ask, tmp_path):
    _, out, _ = ask("instances", "show", "paper-alexnet-9", "--json")
    assert Instance.from_json(out) == load("paper-alexnet", 9)


def test_random_instances_are_written_whole_and_again_the_same(ask, tmp_path):
    first, second = tmp_path / "first", tmp_path / "deep" / "second"
    for folder in (first, second):
        code, out, _ = ask("instances", "make", "--count", 3, "--seed", 7, "--out", folder)
        assert code == 0
        paths = [Path(line) for line in out.splitlines()]
        assert sorted(paths) == sorted(folder.iterdir())
        assert len(paths) == 3
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes()
        assert load(path).name == path.stem
    code, out, _ = ask("instances", "make", "--seed", 8, "--out", first)
    assert len(out.splitlines()) == 1
    assert len(list(first.iterdir())) == 4


def test_heterogeneous_instances_are_written_in_the_size_asked_for(ask, tmp_path):
    sizes = ("--clusters", 4, "--datasets", 3, "--models", 2, "--epochs", 6)
    family = ("--family", "heterogeneous", "--seed", 3)
    code, out, err = ask("instances", "make", *family, *sizes, "--count", 2, "--out", tmp_path)
    assert (code, err) == (0, "2 instances written\n")
    for line in out.splitlines():
        instance = load(Path(line))
        assert (len(instance.clusters), len(instance.datasets), len(instance.models)) == (4, 3, 2)
        assert instance.target.maximum_epochs == 6
        assert instance.name.startswith("heterogeneous-")
    code, first, _ = ask("instances", "make", *family, *sizes, "--out", tmp_path / "one")
    assert Path(first.strip()).name == Path(out.splitlines()[0]).name
    code, out, _ = ask("instances", "make", *family, "--out", tmp_path / "default")
    assert len(load(Path(out.strip())).clusters) == 10


def test_every_family_that_is_offered_is_drawn_by_its_own_function(ask, tmp_path):
    names = set()
    for family in FAMILIES:
        sizes = () if family == "small" else ("--clusters", 2, "--datasets", 2, "--models", 2, "--epochs", 3)
        code, _, _ = ask("instances", "make", "--family", family, "--out", tmp_path / family, *sizes)
        (path,) = (tmp_path / family).iterdir()
        assert code == 0
        names.add(path.name)
    assert len(names) == len(FAMILIES)


def test_sizes_of_small_instances_are_refused(ask, tmp_path):
    code, out, err = ask("instances", "make", "--models", 3, "--out", tmp_path / "none")
    assert (code, out) == (2, "")
    assert "--models: sizes are those of heterogeneous and regions instances" in err
    assert not (tmp_path / "none").exists()


def test_the_schema_accepts_what_is_shipped_and_refuses_what_is_not(ask):
    code, out, err = ask("instances", "schema")
    assert (code, err) == (0, "")
    schema = json.loads(out)
    jsonschema.validate(RICH, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(put(RICH, "clusters[0].capacity", "much"), schema)


def test_the_template_is_printed_or_written_to_a_new_file_only(ask, tmp_path):
    code, out, err = ask("instances", "new")
    assert (code, err) == (0, "")
    path = tmp_path / "mine.json"
    code, printed, _ = ask("instances", "new", "--out", path)
    assert (code, printed) == (0, "")
    assert path.read_text(encoding="utf-8") == out
    assert ask("solve", path, "--method", "exact")[0] == 0
    path.write_text("precious", encoding="utf-8")
    code, _, err = ask("instances", "new", "--out", path)
    assert code == 2
    assert "exists already" in err
    assert path.read_text(encoding="utf-8") == "precious"


def test_a_fitted_law_says_how_many_runs_it_was_fitted_to(ask):
    _, out, _ = ask("instances", "show", "digits-alexnet")
    (line,) = [line for line in out.splitlines() if line.startswith("$.traced_law ")]
    assert "fitted; 600 runs" in line
    _, text, _ = ask("instances", "show", "digits-alexnet", "--json")
    notes = [row["note"] for row in json.loads(text)["provenance"] if row["path"] == "$.traced_law"]
    assert notes == ["fitted; 600 runs"]
