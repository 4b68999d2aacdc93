"""The command line: answers on one stream, all else on the other, exit codes, and every kind of bad input."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

import depl
from depl.cli import main
from depl.commands import demo
from depl.instances.library import load, names
from depl.models.methods import Limits, Outcome, register
from depl.models.plan import Plan
from depl.models.problem import Instance
from depl.models.result import Termination

ROOT = Path(__file__).resolve().parents[1]
KEYS = {
    "termination",
    "solution",
    "cost",
    "lower_bound",
    "gap",
    "violation",
    "quantile",
    "epochs",
    "training_time",
}
TINY = json.loads(load("tiny").to_json())


@pytest.fixture
def ask(capsys):
    """Run one command line; returns exit code, standard output and standard error."""

    def run(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture(scope="module")
def optimum():
    return depl.solve(load("tiny")).plan


@pytest.fixture
def plan_file(tmp_path, optimum):
    path = tmp_path / "plan.json"
    path.write_text(optimum.to_json(), encoding="utf-8")
    return path


def method(name, run):
    """Register a method of this module under a name that no other test uses."""
    register(f"cli-{name}", run)
    return f"cli-{name}"


def edited(document, *changes):
    """A copy of a JSON document with other values at the ends of paths; the value ... removes the entry."""
    copy = json.loads(json.dumps(document))
    for *way, last, value in changes:
        place = copy
        for step in way:
            place = place[step]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return copy


# --- answers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["solve", "--help"], ["instances", "new", "-h"]]
)
def test_help_and_version_are_answers(ask, words):
    code, out, err = ask(*words)
    assert (code, err) == (0, "")
    assert out


def test_solving_says_what_is_proved(ask):
    code, out, err = ask("solve", "tiny")
    assert (code, err) == (0, "")
    lines = dict(line.split("  ", 1) for line in out.splitlines())
    fields = {name.strip(): value.strip() for name, value in lines.items()}
    assert fields["tiny"] == "proved cheapest"
    assert fields["cost"] == "28, lower bound 28 (gap 0 %)"
    assert fields["epochs"] == "3: 2 full, 1 pruned; 2 on cloud, 1 on edge"
    assert fields["P(l(K) <= 6.5)"] == "at least 0.75, certified; asked 0.7"


def test_json_is_exactly_one_object_with_the_promised_keys(ask):
    code, out, err = ask("solve", "tiny", "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result.keys() >= KEYS
    assert (result["termination"], result["solution"]) == ("optimal", "proven_optimal")
    assert result["cost"] == result["lower_bound"] == pytest.approx(28)
    assert result["violation"] == {"lower": 0.25, "upper": 0.25}
    assert result["quantile"] == {"lower": 6.25, "upper": 6.25}


def test_a_written_plan_is_checked_and_explained(ask, tmp_path):
    path = tmp_path / "plan.json"
    code, _, err = ask("solve", "tiny", "--out", path)
    assert code == 0
    assert f"plan written to {path}" in err
    assert [item.name for item in tmp_path.iterdir()] == ["plan.json"]
    code, out, err = ask("check", "tiny", path)
    assert (code, err) == (0, "")
    assert out.startswith("tiny: every equation holds")
    code, out, err = ask("explain", "tiny", path)
    assert (code, err) == (0, "")
    assert "cost = 1 + 24 + 3 = 28" in out


def test_the_plan_inside_the_json_result_can_be_checked(ask, tmp_path):
    _, out, _ = ask("solve", "tiny", "--json")
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(json.loads(out)["plan"]), encoding="utf-8")
    assert ask("check", "tiny", path)[0] == 0


def test_the_explanation_follows_the_result_or_leaves_the_json_alone(ask):
    _, out, _ = ask("solve", "tiny", "--explain")
    assert out.index("proved cheapest") < out.index("(1) Epoch time")
    _, out, err = ask("solve", "tiny", "--explain", "--json")
    json.loads(out)
    assert "(1) Epoch time" in err


def test_a_failing_plan_is_named_with_its_equation_and_the_code_of_infeasible(ask, tmp_path, optimum):
    path = tmp_path / "plan.json"
    document = edited(json.loads(optimum.to_json()), ("epochs", 2, "resources", 5.0), ("claims", ...))
    path.write_text(json.dumps(document), encoding="utf-8")
    code, out, err = ask("check", "tiny", path)
    assert (code, err) == (3, "")
    assert "tiny: the plan FAILS" in out
    (failing,) = (line for line in out.splitlines() if "FAILED" in line)
    assert failing.startswith("(5)")
    code, out, _ = ask("check", "tiny", path, "--json")
    report = json.loads(out)
    assert code == 3
    assert report.keys() >= KEYS | {"ok", "findings"}
    assert report["ok"] is False
    assert [finding["equation"] for finding in report["findings"] if not finding["ok"]] == ["(5)"]


def test_an_infeasible_instance_is_proved_so_with_a_reason(ask, tmp_path):
    code, out, err = ask("solve", "tiny", "--target", "-20", "--out", tmp_path / "plan.json")
    assert code == 3
    assert "proved infeasible" in out
    assert "reason" in out
    assert "not written: there is no plan" in err
    assert not list(tmp_path.iterdir())
    code, out, _ = ask("solve", "tiny", "--target", "-20", "--json")
    result = json.loads(out)
    assert (code, result["termination"], result["solution"]) == (3, "infeasible", "none")
    assert (result["cost"], result["lower_bound"], result["gap"], result["plan"]) == (None,) * 4


@pytest.mark.parametrize(
    ("termination", "held", "code"),
    [
        (Termination.OPTIMAL, True, 0),
        (Termination.GAP_REACHED, True, 0),
        (Termination.EXHAUSTED, True, 0),
        (Termination.TIME_LIMIT, True, 4),
        (Termination.INTERRUPTED, True, 4),
        (Termination.TIME_LIMIT, False, 5),
        (Termination.INTERRUPTED, False, 5),
        (Termination.EXHAUSTED, False, 5),
        (Termination.INFEASIBLE, False, 3),
        (Termination.ERROR, False, 70),
    ],
)
def test_exit_codes_tell_how_a_solve_ended(ask, optimum, termination, held, code):
    def ends(instance: Instance, limits: Limits) -> Outcome:
        return Outcome(termination, optimum if held else None, 28.0 if held else 3.0, "for a test")

    name = method(f"{termination.value}-{held}", ends)
    found, out, _ = ask("solve", "tiny", "--method", name)
    assert found == code
    assert "for a test" in out
    found, out, _ = ask("solve", "tiny", "--method", name, "--json")
    assert found == code
    assert json.loads(out)["termination"] == termination.value


# --- instances -------------------------------------------------------------------------------------------


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
    assert ("choose another one with --target" in err) == (name != "tiny")


def test_what_is_shown_includes_values_laws_and_provenance(ask):
    _, out, err = ask("instances", "show", "paper-alexnet", "--target", "9")
    assert err == ""
    assert out.startswith("paper-alexnet-9\n")
    assert "from l(0) = 20 to l_max = 9" in out
    assert "inverse gamma of mean 1.02, variance 0.031" in out
    assert any(line.split()[:3] == ["$.clusters[0].capacity", "|", "paper"] for line in out.splitlines())


def test_brackets_in_names_are_shown_as_they_are(ask, tmp_path):
    document = edited(TINY, ("name", "[bold]tiny[/bold]"), ("description", ":smile: [red]"))
    document["clusters"][0]["name"] = "[link]cloud"
    document["transfers"][1]["cluster"] = "[link]cloud"
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    _, out, _ = ask("instances", "show", path)
    assert "[bold]tiny[/bold]\n:smile: [red]" in out
    assert "[link]cloud |" in out


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


def test_the_schema_accepts_what_is_shipped_and_refuses_what_is_not(ask):
    code, out, err = ask("instances", "schema")
    assert (code, err) == (0, "")
    schema = json.loads(out)
    jsonschema.validate(TINY, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(edited(TINY, ("clusters", 0, "capacity", "much")), schema)


def test_the_template_is_printed_or_written_to_a_new_file_only(ask, tmp_path):
    code, out, err = ask("instances", "new")
    assert (code, err) == (0, "")
    path = tmp_path / "mine.json"
    code, printed, _ = ask("instances", "new", "--out", path)
    assert (code, printed) == (0, "")
    assert path.read_text(encoding="utf-8") == out
    assert ask("solve", path)[0] == 0
    path.write_text("precious", encoding="utf-8")
    code, _, err = ask("instances", "new", "--out", path)
    assert code == 2
    assert "exists already" in err
    assert path.read_text(encoding="utf-8") == "precious"


# --- bad input -------------------------------------------------------------------------------------------

INVERSE_GAMMA = {"shape": "constant", "noise": {"type": "inverse_gamma", "shape": 0.5, "scale": 1}}
BAD_INSTANCES = {
    "unknown field": (edited(TINY, ("clusters", 0, "colour", "red")), "$.clusters[0]", "unknown field"),
    "missing field": (edited(TINY, ("target", "initial_loss", ...)), "$.target", "missing required field"),
    "wrong type": (edited(TINY, ("clusters", 1, "capacity", "much")), "$.clusters[1].capacity", "float"),
    "wrong sign": (edited(TINY, ("clusters", 1, "capacity", -4)), "$.clusters[1].capacity", "> 0"),
    "not finite": (
        json.dumps(TINY).replace('"capacity": 4.0', '"capacity": NaN'),
        "$",
        "not a JSON document",
    ),
    "too large": (
        json.dumps(TINY).replace('"capacity": 4.0', '"capacity": 1e999'),
        "$.clusters[1].capacity",
        "out of range",
    ),
    "dangling name": (
        edited(TINY, ("transfers", 0, "cluster", "moon")),
        "$.transfers[0].cluster",
        "'moon' is not defined; known are 'cloud', 'edge'",
    ),
    "impossible distribution": (
        edited(TINY, ("models", 0, "improvement", INVERSE_GAMMA)),
        "noise.shape",
        "> 1",
    ),
    "both limits missing": (
        edited(TINY, ("target", "maximum_time", ...)),
        "$.target",
        "give maximum_time or round_deadline",
    ),
    "not JSON": ("hello", "$", "not a JSON document"),
    "empty": ("", "$", "not a JSON document"),
    "cut off": (json.dumps(TINY)[:-40], "$", "not a JSON document"),
    "wrong format": (edited(TINY, ("format", "recipe")), "$.format", "'recipe'"),
    "wrong version": (edited(TINY, ("version", 2)), "$.version", "version 2"),
}


@pytest.mark.parametrize("kind", BAD_INSTANCES)
@pytest.mark.parametrize("command", ["solve", "show", "check"])
def test_a_bad_instance_is_refused_with_its_place(ask, tmp_path, plan_file, kind, command):
    document, place, message = BAD_INSTANCES[kind]
    path = tmp_path / "bad.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    words = {
        "solve": ["solve", path],
        "show": ["instances", "show", path],
        "check": ["check", path, plan_file],
    }
    code, out, err = ask(*words[command])
    assert (code, out) == (2, "")
    assert err.startswith(f"depl: {path}: $")
    assert place in err
    assert message in err
    assert "Traceback" not in err


BAD_PLANS = {
    "not JSON": ("hello", "$", "not a JSON document"),
    "an instance": (TINY, "$.format", "'depl-instance' document"),
    "wrong version": ({"format": "depl-plan", "version": 9}, "$.version", "version 9"),
    "unknown field": ({"format": "depl-plan", "version": 1, "colour": 1}, "$", "unknown field"),
    "unknown model": (
        {
            "format": "depl-plan",
            "version": 1,
            "data": [{"cluster": "edge", "datasets": ["sensors"]}],
            "epochs": [{"model": "huge", "cluster": "edge", "resources": 1}],
        },
        "$.epochs[0].model",
        "no model 'huge'",
    ),
    "negative resources": (
        {
            "format": "depl-plan",
            "version": 1,
            "data": [{"cluster": "edge", "datasets": ["sensors"]}],
            "epochs": [{"model": "full", "cluster": "edge", "resources": -1}],
        },
        "$.epochs[0].resources",
        ">= 0",
    ),
    "data on an idle cluster": (
        {"format": "depl-plan", "version": 1, "data": [{"cluster": "edge", "datasets": ["sensors"]}]},
        "$.data",
        "never train",
    ),
    "for another instance": (
        {"format": "depl-plan", "version": 1, "instance": "0" * 64},
        "$.instance",
        "made for another instance",
    ),
}


@pytest.mark.parametrize("kind", BAD_PLANS)
@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_bad_plan_is_refused_with_its_place(ask, tmp_path, kind, command):
    document, place, message = BAD_PLANS[kind]
    path = tmp_path / "bad.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    code, out, err = ask(command, "tiny", path)
    assert (code, out) == (2, "")
    assert err.startswith(f"depl: {path}: {place}")
    assert message in err
    assert "Traceback" not in err


def test_a_forbidden_switch_fails_the_check_and_cannot_be_explained(ask, tmp_path):
    document = {
        "format": "depl-plan",
        "version": 1,
        "data": [{"cluster": "edge", "datasets": ["sensors"]}],
        "epochs": [{"model": model, "cluster": "edge", "resources": 4} for model in ("pruned", "full")],
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    code, out, _ = ask("check", "tiny", path)
    assert code == 3
    assert "switch" in out
    code, _, err = ask("explain", "tiny", path)
    assert code == 2
    assert "$.epochs[1].model: the switch from 'pruned' to 'full' is forbidden" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["solve", "tiny", "--method", "magic"], "no method 'magic'; known are"),
        (["solve", "paper-alexnt"], "did you mean 'paper-alexnet'"),
        (["solve", "paper-alexnet"], "choose a target: 'paper-alexnet' has targets 5, 7, 9, 11, 13"),
        (["solve", "paper-alexnet", "--target", "6"], "there is no target 6"),
        (["solve", "paper-alexnet-9", "--target", "7"], "the name says target 9, the option 7"),
        (["solve", "paper-alexnet", "--target", "nan"], "must be a finite number"),
        (["solve", "paper-alexnet", "--target", "low"], "must be a finite number"),
        (["solve", "tiny", "--gap", "1.5"], "gap must lie in [0, 1)"),
        (["solve", "tiny", "--gap", "nan"], "gap must lie in [0, 1)"),
        (["solve", "tiny", "--time-limit", "0"], "time_limit must be positive"),
        (["solve", "nowhere.json"], "nowhere.json: cannot be read (No such file or directory)"),
        (["solve", "."], ".: cannot be read (Is a directory)"),
        (["check", "tiny", "nowhere.json"], "nowhere.json: cannot be read (No such file or directory)"),
        (["check", "tiny", "."], ".: cannot be read (Is a directory)"),
        (["explain", "nobody", "nowhere.json"], "no shipped instance and no file is called 'nobody'"),
        (["instances", "show", "nobody"], "no shipped instance and no file is called 'nobody'"),
    ],
)
def test_a_wrong_name_or_number_is_refused_with_what_to_do(ask, words, message):
    code, out, err = ask(*words)
    assert (code, out) == (2, "")
    assert err.startswith("depl: ")
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["dance"], "invalid choice: 'dance'"),
        (["solve"], "the following arguments are required: INSTANCE"),
        (["solve", "tiny", "--gap", "small"], "invalid float value: 'small'"),
        (["solve", "tiny", "--seed", "-1"], "must not be negative"),
        (["solve", "tiny", "--seed", "x"], "invalid seed value: 'x'"),
        (["solve", "tiny", "--scenarios", "9"], "unrecognized arguments"),
        (["check", "tiny"], "the following arguments are required: PLAN"),
        (["instances"], "the following arguments are required: ACTION"),
        (["instances", "make"], "the following arguments are required: --out"),
        (["instances", "make", "--out", "x", "--count", "0"], "must be at least 1"),
    ],
)
def test_a_wrong_usage_is_refused_by_the_parser(ask, words, message):
    code, out, err = ask(*words)
    assert (code, out) == (2, "")
    assert message in err


def test_an_unreadable_file_is_refused(ask, tmp_path, monkeypatch):
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(TINY), encoding="utf-8")

    def closed(self, *given, **named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", closed)
    code, out, err = ask("solve", path)
    assert (code, out) == (2, "")
    assert f"depl: {path}: cannot be read (Permission denied)" in err


def test_a_file_that_is_not_text_is_refused(ask, tmp_path):
    path = tmp_path / "instance.json"
    path.write_bytes(b"\xff\xfe\x00{")
    code, _, err = ask("solve", path)
    assert code == 2
    assert "not UTF-8 text" in err


def test_errors_under_json_are_one_object_too(ask, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(edited(TINY, ("clusters", 1, "capacity", -4))), encoding="utf-8")
    for words in (["solve", path, "--json"], ["check", path, path, "--json"]):
        code, out, err = ask(*words)
        result = json.loads(out)
        assert code == 2
        assert result.keys() >= KEYS
        assert (result["termination"], result["solution"], result["cost"]) == ("error", "none", None)
        assert result["path"] == f"{path}: $.clusters[1].capacity"
        assert result["reason"] in err


# --- files that cannot be written ------------------------------------------------------------------------


def never(instance: Instance, limits: Limits) -> Outcome:
    """A method that must not be reached."""
    raise AssertionError("solved although the plan cannot be written")


def test_a_plan_that_could_not_be_written_is_refused_before_solving(ask, tmp_path, monkeypatch):
    name = method("never", never)
    (tmp_path / "file").write_text("precious", encoding="utf-8")
    for path, message in (
        (tmp_path, "is a folder"),
        (tmp_path / "missing" / "plan.json", "there is no folder"),
        (tmp_path / "file" / "plan.json", "there is no folder"),
    ):
        code, out, err = ask("solve", "tiny", "--method", name, "--out", path)
        assert (code, out) == (2, "")
        assert message in err
    monkeypatch.setattr(os, "access", lambda *given: False)
    code, _, err = ask("solve", "tiny", "--method", name, "--out", tmp_path / "plan.json")
    assert code == 2
    assert "cannot be written to" in err
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_a_plan_that_cannot_be_written_after_all_is_still_shown(ask, tmp_path, monkeypatch):
    def full(self, *given, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    code, out, err = ask("solve", "tiny", "--out", tmp_path / "plan.json")
    assert code == 2
    assert "proved cheapest" in out
    assert "cannot be written (No space left on device)" in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", [["demo"], ["instances", "make"]])
def test_a_folder_that_cannot_be_made_is_refused(ask, tmp_path, command):
    (tmp_path / "file").write_text("precious", encoding="utf-8")
    for path in (tmp_path / "file", tmp_path / "file" / "deeper"):
        code, out, err = ask(*command, "--out", path)
        assert (code, out) == (2, "")
        assert "cannot be made" in err
    assert (tmp_path / "file").read_text(encoding="utf-8") == "precious"


# --- defects, interrupts, readers that leave -------------------------------------------------------------


def test_a_method_whose_plan_fails_the_verifier_is_an_internal_error(ask):
    name = method("wrong", lambda instance, limits: Outcome(Termination.OPTIMAL, Plan(), 0.0))
    code, out, err = ask("solve", "tiny", "--method", name)
    assert (code, out) == (70, "")
    assert "fails the independent verifier" in err
    assert "Traceback" not in err


def test_an_unexpected_error_is_an_internal_error_with_its_traceback(ask):
    def breaks(instance: Instance, limits: Limits) -> Outcome:
        raise ZeroDivisionError("for a test")

    code, out, err = ask("solve", "tiny", "--method", method("breaks", breaks), "--json")
    assert code == 70
    assert json.loads(out)["termination"] == "error"
    assert "Traceback" in err
    assert "internal error, please report it: ZeroDivisionError: for a test" in err


def test_an_interrupt_without_a_plan_ends_with_a_sentence(ask):
    def stops(instance: Instance, limits: Limits) -> Outcome:
        raise KeyboardInterrupt

    name = method("stops", stops)
    code, out, err = ask("solve", "tiny", "--method", name)
    assert (code, out, err) == (5, "", "depl: interrupted before there was an answer\n")
    code, out, _ = ask("solve", "tiny", "--method", name, "--json")
    assert (code, json.loads(out)["termination"]) == (5, "interrupted")


def test_the_interrupt_key_reaches_a_running_process():
    program = (
        "import sys, time, depl\n"
        "from depl.cli import main\n"
        "def sleeps(instance, limits):\n"
        "    print('asleep', file=sys.stderr, flush=True)\n"
        "    time.sleep(60)\n"
        "depl.register('sleeps', sleeps)\n"
        "sys.exit(main(['solve', 'tiny', '--method', 'sleeps', '--json']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "asleep\n"
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert time.monotonic() - started < 30
    assert process.returncode == 5
    assert json.loads(out)["termination"] == "interrupted"
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [["instances", "schema"], ["--help"]])
def test_a_reader_that_leaves_early_causes_no_complaint(words):
    with subprocess.Popen(
        [sys.executable, "-m", "depl", *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        complaint = process.stderr.read()
    assert process.returncode == 0
    assert complaint == b""


class FullDisk(io.StringIO):
    """A stream on a disk without space."""

    def write(self, text):
        raise OSError(28, "No space left on device")


def test_an_answer_that_cannot_be_printed_is_an_error(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdout", FullDisk())
    assert main(["instances", "list"]) == 2
    assert "depl: cannot print (No space left on device)" in capsys.readouterr().err


def test_a_closed_standard_output_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["instances", "list"]) == 0


def test_names_that_the_terminal_cannot_show_are_escaped(tmp_path, monkeypatch):
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(edited(TINY, ("name", "größe"))), encoding="utf-8")
    page = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", page)
    assert main(["solve", str(path)]) == 0
    assert page.buffer.getvalue().startswith(b"gr\\xf6\\xdfe")


# --- the demo --------------------------------------------------------------------------------------------


def slow_epochs(instance: Instance, limits: Limits) -> Outcome:
    """22 - l_max epochs of the steadiest model, with a bound of 80 % of their cost."""
    document = {
        "format": "depl-plan",
        "version": 1,
        "data": [{"cluster": "A", "datasets": ["training-data"]}],
        "epochs": [{"model": "slow-steady", "cluster": "A", "resources": 1.0}]
        * round(22 - instance.target.maximum_loss),
    }
    plan = Plan.from_json(json.dumps(document))
    return Outcome(Termination.EXHAUSTED, plan, 0.8 * len(plan.epochs))


def test_the_demo_prints_a_row_for_every_target_and_draws_the_figures(ask, tmp_path, monkeypatch):
    name = method("slow", slow_epochs)
    refused = method("refused", depl.heuristics.best_expected.expected_greedy)
    monkeypatch.setattr(demo, "FAMILIES", ("paper-alexnet",))
    monkeypatch.setattr(
        demo, "registered", lambda: [depl.models.methods.find(item) for item in (name, refused)]
    )
    code, out, err = ask("demo", "--out", tmp_path / "figures")
    assert (code, err) == (0, "")
    rows = [[cell.strip() for cell in line.split("|")] for line in out.splitlines() if name in line]
    assert [row[0] for row in rows] == ["5", "7", "9", "11", "13"]
    assert [row[2] for row in rows] == ["17", "15", "13", "11", "9"]
    assert {row[3] for row in rows} == {"+25.0 %"}
    assert rows[0][4] == "0 / 0 / 17"
    assert all(float(row[5].removeprefix("at least ")) > 0.99 for row in rows)
    written = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {f"paper-alexnet-{kind}.png" for kind in ("cost", "epochs", "loss", "overview")} <= written
    assert all(path in out for path in written if path.endswith(".png"))


def test_the_demo_says_proved_only_of_what_is_proved(ask):
    instance = load("paper-alexnet", 9)
    proved = depl.solve(instance)
    merely = depl.solve(instance, "expected-greedy")
    entries = [demo.Entry("9", instance, result.method, result) for result in (proved, merely)] + [
        demo.Entry("9", instance, "refuses", None, "covers nothing")
    ]
    rows = [
        [cell.strip() for cell in line.split("|")] for line in demo.comparison_table(entries).splitlines()[2:]
    ]
    assert [row[3] for row in rows] == ["proved cheapest", "+181.7 %", "covers nothing"]
