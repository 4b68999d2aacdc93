"""The command line: answers on one stream, all else on the other, exit codes, defects, broken streams."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from depl.cli import main
from depl.instances.library import load
from depl.models.problem.plan import Plan
from depl.models.solving.methods import Registered, register, ship
from depl.models.solving.options import Option
from depl.models.solving.result import Outcome, Termination
from depl.starting import JSON
from tests.cases.documents import RICH, put


def method(name, run, **more):
    """Register a method of this module under a name that no other test uses."""
    register(f"cli-{name}", run, **more)
    return f"cli-{name}"


def test_json_is_exactly_one_object_with_the_promised_keys_and_a_plan_that_can_be_checked(ask, tmp_path):
    code, out, err = ask("solve", "tiny", "--method", "exact", "--explain", "--json")
    assert (code, "(1) Epoch time" in err) == (0, True)
    result = json.loads(out)
    assert {*result, "path"} == json.loads(JSON).keys()
    assert (result["termination"], result["solution"]) == ("optimal", "proven_optimal")
    assert result["cost"] == result["lower_bound"] == pytest.approx(28)
    assert result["violation"] == {"lower": 0.25, "upper": 0.25}
    assert result["quantile"] == {"lower": 6.25, "upper": 6.25}
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(result["plan"]), encoding="utf-8")
    assert ask("check", "tiny", plan)[0] == 0
    code, out, _ = ask("solve", "tiny", "--target", "-20", "--json")
    result = json.loads(out)
    assert (code, result["termination"], result["solution"]) == (3, "infeasible", "none")
    assert (result["cost"], result["lower_bound"], result["gap"], result["plan"]) == (None,) * 4


def test_the_explanation_follows_the_result_also_where_there_is_no_plan(ask, tmp_path):
    path = tmp_path / "strict.json"
    path.write_text(load("tiny").replace(maximum_epochs=1).to_json(), encoding="utf-8")
    code, out, err = ask("explain", path)
    assert (code, err, "l_max and K_max: each of them alone would do" in out) == (0, "", True)
    code, told, err = ask("solve", path, "--explain", "--out", tmp_path / "plan.json")
    assert (code, told.endswith(out), "not written: there is no plan" in err) == (3, True, True)
    assert list(tmp_path.iterdir()) == [path]


def test_a_failing_plan_is_named_with_its_equation_and_the_code_of_infeasible(ask, tmp_path, tiny_optimum):
    path = tmp_path / "plan.json"
    document = put(json.loads(tiny_optimum.to_json()), "epochs[2].resources", 5.0)
    path.write_text(json.dumps(document), encoding="utf-8")
    assert ask("check", "tiny", path)[0] == 3
    code, out, _ = ask("check", "tiny", path, "--json")
    report = json.loads(out)
    assert (code, report["ok"]) == (3, False)
    assert report.keys() >= {"termination", "solution", "cost", "violation", "quantile", "epochs"}
    assert [finding["equation"] for finding in report["findings"] if not finding["ok"]] == ["(5)"]


ENDS = {
    "optimal": (0, None),
    "gap_reached": (0, None),
    "exhausted": (0, 5),
    "stuck": (0, None),
    "time_limit": (4, 5),
    "interrupted": (4, 5),
    "infeasible": (None, 3),
    "error": (None, 70),
}
"""Exit codes of each end of a solve, with a plan and without one."""


@pytest.mark.parametrize("termination", ENDS)
def test_exit_codes_tell_how_a_solve_ended(ask, tiny_optimum, own_methods, termination):
    for plan, bound, code in zip((tiny_optimum, None), (28.0, 3.0), ENDS[termination], strict=True):
        if code is not None:
            ended = Outcome(Termination(termination), plan, bound, "for a test")
            name = f"cli-{termination}-{bound}"
            ship([Registered(name, lambda *_, ended=ended: ended, "", shipped=True)])
            found, out, _ = ask("solve", "tiny", "--method", name)
            assert (found, "for a test" in out) == (code, True)
            found, out, _ = ask("solve", "tiny", "--method", name, "--json")
            assert (found, json.loads(out)["termination"]) == (code, termination)


def test_what_a_defect_leads_to_is_an_internal_error(ask, own_methods):
    """A plan that the verifier refuses without a trace, anything unexpected with one."""
    name = method("wrong", lambda instance, limits: Outcome(Termination.OPTIMAL, Plan(), 0.0))
    code, out, err = ask("solve", "tiny", "--method", name)
    assert (code, out, "Traceback" in err) == (70, "", False)
    assert "fails the independent verifier" in err

    def breaks(instance, limits):
        raise ZeroDivisionError("for a test")

    code, out, err = ask("solve", "tiny", "--method", method("breaks", breaks), "--json")
    assert (code, json.loads(out)["termination"], "Traceback" in err) == (70, "error", True)
    assert "internal error, please report it: ZeroDivisionError: for a test" in err


def test_an_answer_that_cannot_be_printed_is_an_error_and_a_closed_standard_output_none(capsys, monkeypatch):
    class FullDisk(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", FullDisk())
    assert main(["instances", "list"]) == 2
    assert "depl: cannot print (No space left on device)" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["instances", "list"]) == 0


def test_names_that_the_terminal_cannot_show_are_escaped(tmp_path, monkeypatch):
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(put(RICH, "name", "größe")), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert main(["instances", "show", str(path)]) == 0
    assert sys.stdout.buffer.getvalue().startswith(b"gr\\xf6\\xdfe")


def test_gap_and_options_of_a_method_reach_it_typed(ask, own_methods):
    seen = []
    options = (Option("width", (int,)), "colour")
    name = method("notes", lambda _, limits: seen.append((limits.gap, dict(limits.options))), options=options)
    ask("solve", "tiny", "--method", name, "--gap", "12.5 %", "--option", "width=8", "--option", "colour=a=b")
    assert seen == [(0.125, {"width": 8, "colour": "a=b"})]
    words = ("solve", "paper-alexnet-9", "--method", "depl-paper", "--json")
    found, wanted = (json.loads(ask(*words, *more)[1]) for more in (("--option", "eta=50"), ("--eta", "50")))
    assert found["cost"] == wanted["cost"]


def failing(error):
    """A method of a class that ends with an error."""

    def fail(self, *given, **named):
        raise error

    return fail


def test_what_cannot_be_read_or_is_wrong_is_told_with_its_place_also_as_one_object(
    ask, tmp_path, monkeypatch
):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(put(RICH, "clusters[1].capacity", -4)), encoding="utf-8")
    for words in (["solve", path, "--json"], ["check", path, path, "--json"]):
        code, out, _ = ask(*words)
        assert (code, json.loads(out)["path"]) == (2, f"{path}: $.clusters[1].capacity")
    monkeypatch.setattr(Path, "open", failing(PermissionError(13, "Permission denied")))
    code, out, err = ask("solve", path)
    assert (code, out) == (2, "")
    assert err.startswith(f"depl: {path}: cannot be read (Permission denied)")


@pytest.mark.usefixtures("own_methods")
def test_a_plan_that_could_not_be_written_is_refused_before_solving_and_shown_if_that_fails_later(
    ask, tmp_path, monkeypatch
):
    register("cli-never", lambda instance, limits: pytest.fail("solved although it cannot be written"))
    words = ("solve", "tiny", "--out", tmp_path / "plan.json", "--method")
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *given: False)
        code, out, err = ask(*words, "cli-never")
        assert (code, out, "cannot be written to" in err) == (2, "", True)
    monkeypatch.setattr(Path, "replace", failing(OSError(28, "No space left on device")))
    code, out, err = ask(*words, "exact")
    assert (code, "cost" in out) == (2, True)
    assert "cannot be written (No space left on device)" in err
    assert not list(tmp_path.iterdir())
