"""Every kind of bad input on the command line: exit code 2, where, what, and nothing half-written."""

import json
import os
from pathlib import Path

import pytest

from depl.models.solving.methods import register
from depl.starting import JSON
from tests.cases.bad_instances import BAD
from tests.cases.documents import ABSENT, RICH, put

NAN = json.dumps(put(RICH, "clusters[0].capacity", float("nan")))
LIMITLESS = put(put(RICH, "target.maximum_time", ABSENT), "target.round_deadline", ABSENT)
TWICE = json.dumps(RICH).replace('"capacity":', '"capacity": 1, "capacity":', 1)
TEXTS = {
    "not finite": (NAN, "$", "not a JSON document"),
    "too large": (NAN.replace("NaN", "1e999"), "$.clusters[0].capacity", "out of range"),
    "no time limit": (json.dumps(LIMITLESS), "$.target", "give maximum_time or round_deadline"),
    "a key twice": (TWICE, "$.clusters[0].capacity", "is given twice in this object; keep one"),
    "not JSON": ("hello", "$", "not a JSON document"),
    "empty": ("", "$", "not a JSON document"),
    "cut off": (json.dumps(RICH)[:-40], "$", "not a JSON document"),
    "wrong format": (json.dumps(put(RICH, "format", "recipe")), "$.format", "'recipe'"),
    "wrong version": (json.dumps(put(RICH, "version", 2)), "$.version", "version 2"),
}
HEAD = {"format": "depl-plan", "version": 1}
ON_EDGE = {"data": [{"cluster": "edge", "datasets": ["sensors"]}]}


def plan(*epochs):
    """A plan on the edge, of models with resources."""
    rows = [{"model": model, "cluster": "edge", "resources": amount} for model, amount in epochs]
    return json.dumps({**HEAD, **ON_EDGE, "epochs": rows})


BAD_PLANS = {
    "a key twice": (json.dumps(HEAD)[:-1] + ', "epochs": [], "epochs": []}', "$.epochs", "is given twice"),
    "not JSON": ("hello", "$", "not a JSON document"),
    "an instance": (json.dumps(RICH), "$.format", "'depl-instance' document"),
    "wrong version": (json.dumps(HEAD | {"version": 9}), "$.version", "version 9"),
    "unknown field": (json.dumps(HEAD | {"colour": 1}), "$", "unknown field"),
    "unknown model": (plan(("huge", 1)), "$.epochs[0].model", "no model 'huge'"),
    "negative resources": (plan(("full", -1)), "$.epochs[0].resources", ">= 0"),
    "data on an idle cluster": (plan(), "$.data", "never train"),
    "for another instance": (json.dumps(HEAD | {"instance": "0" * 64}), "$.instance", "for another instance"),
}


def refused(ask, words, *messages, start="depl"):
    """What is said of a command line that is refused."""
    code, out, err = ask(*words)
    assert (code, out) == (2, ""), words
    assert err.startswith(start), words
    assert [message for message in messages if message not in err] == [], err
    assert "Traceback" not in err
    return err


def test_bad_values_are_refused_with_their_place_and_message(ask, tmp_path):
    """Some of all; the reader of instances refuses each of them in its own tests."""
    path = tmp_path / "bad.json"
    for bad in BAD[::9]:
        path.write_text(json.dumps(put(RICH, bad.place, bad.value)), encoding="utf-8")
        place = bad.place if bad.path is None else bad.path
        start = f"depl: {path}: ${'.' if place else ''}{place}: "
        refused(ask, ("solve", path), bad.message, start=start)


def test_a_bad_instance_or_plan_is_refused_by_every_command_with_its_place(ask, tmp_path):
    path, other = tmp_path / "bad.json", tmp_path / "plan.json"
    for text, place, message in TEXTS.values():
        path.write_text(text, encoding="utf-8")
        for words in ("solve",), ("instances", "show"), ("check",), ("explain",):
            more = [other] if words[0] in ("check", "explain") else []
            refused(ask, (*words, path, *more), message, start=f"depl: {path}: {place}: ")
    for text, place, message in BAD_PLANS.values():
        path.write_text(text, encoding="utf-8")
        for command in ("check", "explain"):
            refused(ask, (command, "tiny", path), message, start=f"depl: {path}: {place}")


def test_a_forbidden_switch_fails_the_check_and_cannot_be_explained(ask, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(plan(("pruned", 4), ("full", 4)), encoding="utf-8")
    code, out, _ = ask("check", "tiny", path)
    assert (code, "switch" in out) == (3, True)
    said = "$.epochs[1].model: the switch from 'pruned' to 'full' is forbidden"
    refused(ask, ("explain", "tiny", path), said)


def test_a_file_that_cannot_be_read_or_is_not_text_is_refused(ask, tmp_path, monkeypatch):
    path = tmp_path / "instance.json"
    path.write_bytes(b"\xff\xfe\x00{")
    refused(ask, ("solve", path), "not UTF-8 text")

    def closed(self, *given, **named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", closed)
    refused(ask, ("solve", path), f"depl: {path}: cannot be read (Permission denied)")


def test_errors_under_json_are_one_object_too(ask, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(put(RICH, "clusters[1].capacity", -4)), encoding="utf-8")
    for words in (["solve", path, "--json"], ["check", path, path, "--json"]):
        code, out, err = ask(*words)
        result = json.loads(out)
        assert code == 2
        assert result.keys() == json.loads(JSON).keys()
        assert (result["termination"], result["solution"], result["cost"]) == ("error", "none", None)
        assert result["path"] == f"{path}: $.clusters[1].capacity"
        assert result["reason"] in err


@pytest.mark.usefixtures("own_methods")
def test_a_plan_that_could_not_be_written_is_refused_before_solving(ask, tmp_path, monkeypatch):
    register("cli-never", lambda instance, limits: pytest.fail("solved although it cannot be written"))
    (tmp_path / "file").write_text("precious", encoding="utf-8")
    words = ("solve", "tiny", "--method", "cli-never", "--out")
    refused(ask, (*words, tmp_path), "is a folder")
    for name in ("missing", "file"):
        refused(ask, (*words, tmp_path / name / "plan.json"), "there is no folder")
    monkeypatch.setattr(os, "access", lambda *given: False)
    refused(ask, (*words, tmp_path / "plan.json"), "cannot be written to")
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_a_plan_that_cannot_be_written_after_all_is_still_shown(ask, tmp_path, monkeypatch):
    def full(self, *given, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    code, out, err = ask("solve", "tiny", "--method", "exact", "--out", tmp_path / "plan.json")
    assert code == 2
    assert "cost" in out
    assert "cannot be written (No space left on device)" in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", [["demo"], ["instances", "make"]])
def test_a_folder_that_cannot_be_made_is_refused(ask, tmp_path, command):
    (tmp_path / "file").write_text("precious", encoding="utf-8")
    for path in (tmp_path / "file", tmp_path / "file" / "deeper"):
        refused(ask, (*command, "--out", path), "cannot be made")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "precious"
