"""The command line: answers on one stream, all else on the other, exit codes, interrupts, broken streams."""

import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from depl.cli import main
from depl.instances.library import load
from depl.instances.spent_promise import spent_promise
from depl.models.foundation.tolerances import PROOF_TOLERANCE
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.methods import Limits, Outcome, register
from depl.models.solving.options import Option
from depl.models.solving.result import Termination
from depl.starting import JSON
from tests.cases.documents import RICH, put

ROOT = Path(__file__).resolve().parents[2]


def method(name, run, shipped=False):
    """Register a method of this module under a name that no other test uses."""
    register(f"cli-{name}", run, shipped=shipped)
    return f"cli-{name}"


def test_only_what_is_asked_for_is_loaded():
    program = (
        "import sys\n"
        "from depl.cli import COMMANDS, FIRST, main\n"
        "own = set(COMMANDS) - {*FIRST, 'traces'}\n"  # fit takes traces as it does
        "others = [COMMANDS[name].partition(':')[0] for name in own]\n"
        "for words in [], ['--version'], ['--help'], ['check', '--help'], ['solve', 'tiny', '--gap', '5']:\n"
        "    main(words)\n"
        "    print('loaded', [name for name in (*others, 'numpy', 'msgspec') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert [line for line in done.stdout.splitlines() if line.startswith("loaded ")] == ["loaded []"] * 5


def fields_of(text):
    """The lines before the first empty one, by their names."""
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in text.split("\n\n")[0].splitlines())


def test_solving_says_what_is_proved(ask):
    code, out, err = ask("solve", "tiny", "--method", "exact")
    assert (code, err) == (0, "")
    fields = fields_of(out)
    assert fields["tiny"] == "proved cheapest"
    assert fields["cost"] == "28, lower bound 28 (gap 0 %)"
    assert fields["epochs"] == "3: 2 full, 1 pruned; 2 on cloud, 1 on edge"
    assert fields["P(l(K) <= 6.5)"] == "at least 0.75, certified; asked 0.7"


def test_a_violation_that_is_known_exactly_is_subtracted_exactly(ask, tmp_path):
    path = tmp_path / "spent.json"
    path.write_text(spent_promise().to_json(), encoding="utf-8")
    promise = fields_of(ask("solve", path, "--method", "exact")[1])["P(l(K) <= 0)"]
    assert promise == "at least 0.95, certified; asked 0.95"


def test_without_a_method_the_plan_is_proved_and_the_loop_says_how_far_its_plan_may_be(ask):
    code, out, err = ask("solve", "tiny")
    assert (code, err) == (0, "")
    fields = fields_of(out)
    assert (fields["tiny"], fields["method"][:6]) == ("proved cheapest", "auto, ")
    assert re.fullmatch(r"exact [\d.]+ s: proved cheapest", fields["phases"])
    code, out, err = ask("solve", "tiny", "--method", "depl")
    assert (code, err) == (0, "")
    fields = fields_of(out)
    assert "phases" not in fields
    cost, bound, gap = map(float, re.findall(r"[\d.]+", fields["cost"]))
    assert 0 <= bound <= cost == pytest.approx(28)
    assert gap == pytest.approx(100 * (1 - bound / cost), abs=0.1)


def test_json_is_exactly_one_object_with_the_promised_keys_and_a_plan_that_can_be_checked(ask, tmp_path):
    code, out, err = ask("solve", "tiny", "--method", "exact", "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert {*result, "path"} == json.loads(JSON).keys()
    assert (result["termination"], result["solution"]) == ("optimal", "proven_optimal")
    assert result["cost"] == result["lower_bound"] == pytest.approx(28)
    assert result["violation"] == {"lower": 0.25, "upper": 0.25}
    assert result["quantile"] == {"lower": 6.25, "upper": 6.25}
    (tmp_path / "plan.json").write_text(json.dumps(result["plan"]), encoding="utf-8")
    assert ask("check", "tiny", tmp_path / "plan.json")[0] == 0


def test_a_written_plan_is_checked_and_explained(ask, tmp_path):
    path = tmp_path / "plan.json"
    code, _, err = ask("solve", "tiny", "--method", "exact", "--out", path)
    assert (code, f"plan written to {path}" in err) == (0, True)
    assert [item.name for item in tmp_path.iterdir()] == ["plan.json"]
    for words, said in (("check", "tiny: every equation holds"), ("explain", "cost = 1 + 24 + 3 = 28")):
        code, out, err = ask(words, "tiny", path)
        assert (code, said in out, err) == (0, True, "")


def test_without_a_plan_the_instance_is_explained(ask, tmp_path):
    code, out, err = ask("explain", "tiny")
    assert (code, err) == (0, "")
    assert out.startswith("'tiny': it has plans; ")
    path = tmp_path / "strict.json"
    path.write_text(load("tiny").replace(maximum_epochs=1).to_json(), encoding="utf-8")
    code, out, err = ask("explain", path)
    assert (code, err) == (0, "")
    assert "l_max and K_max: each of them alone would do" in out
    assert ask("solve", path, "--explain")[1].endswith(out)
    code, _, err = ask("explain", "tiny", "--figure", tmp_path / "drawn.png")
    assert (code, "--figure: draws a plan" in err) == (2, True)


def test_the_explanation_follows_the_result_or_leaves_the_json_alone(ask):
    _, out, _ = ask("solve", "tiny", "--method", "exact", "--explain")
    assert out.index("proved cheapest") < out.index("(1) Epoch time")
    _, out, err = ask("solve", "tiny", "--method", "exact", "--explain", "--json")
    json.loads(out)
    assert "(1) Epoch time" in err


def test_a_failing_plan_is_named_with_its_equation_and_the_code_of_infeasible(ask, tmp_path, tiny_optimum):
    path = tmp_path / "plan.json"
    document = put(json.loads(tiny_optimum.to_json()), "epochs[2].resources", 5.0)
    path.write_text(json.dumps(document), encoding="utf-8")
    code, out, err = ask("check", "tiny", path)
    assert (code, err, "tiny: the plan FAILS" in out) == (3, "", True)
    assert [line[:3] for line in out.splitlines() if "FAILED" in line] == ["(5)"]
    code, out, _ = ask("check", "tiny", path, "--json")
    report = json.loads(out)
    assert (code, report["ok"]) == (3, False)
    assert report.keys() >= {"termination", "solution", "cost", "violation", "quantile", "epochs"}
    assert [finding["equation"] for finding in report["findings"] if not finding["ok"]] == ["(5)"]


def test_an_infeasible_instance_is_proved_so_with_a_reason(ask, tmp_path):
    code, out, err = ask("solve", "tiny", "--target", "-20", "--out", tmp_path / "plan.json")
    assert (code, "proved infeasible" in out, "reason" in out) == (3, True, True)
    assert "not written: there is no plan" in err
    assert not list(tmp_path.iterdir())
    code, out, _ = ask("solve", "tiny", "--target", "-20", "--json")
    result = json.loads(out)
    assert (code, result["termination"], result["solution"]) == (3, "infeasible", "none")
    assert (result["cost"], result["lower_bound"], result["gap"], result["plan"]) == (None,) * 4


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


@pytest.mark.parametrize(
    ("termination", "held", "code"),
    [
        (ended, held, code)
        for ended, codes in ENDS.items()
        for held, code in zip((True, False), codes, strict=True)
        if code is not None
    ],
)
def test_exit_codes_tell_how_a_solve_ended(ask, tiny_optimum, termination, held, code):
    def ends(instance: Instance, limits: Limits) -> Outcome:
        plan, bound = (tiny_optimum, 28.0) if held else (None, 3.0)
        return Outcome(Termination(termination), plan, bound, "for a test")

    name = method(f"{termination}-{held}", ends, shipped=True)
    found, out, _ = ask("solve", "tiny", "--method", name)
    assert (found, "for a test" in out) == (code, True)
    found, out, _ = ask("solve", "tiny", "--method", name, "--json")
    assert (found, json.loads(out)["termination"]) == (code, termination)


def test_what_a_defect_leads_to_is_an_internal_error(ask):
    """A plan that the verifier refuses without a trace, anything unexpected with one."""
    name = method("wrong", lambda instance, limits: Outcome(Termination.OPTIMAL, Plan(), 0.0))
    code, out, err = ask("solve", "tiny", "--method", name)
    assert (code, out, "Traceback" in err) == (70, "", False)
    assert "fails the independent verifier" in err

    def breaks(instance: Instance, limits: Limits) -> Outcome:
        raise ZeroDivisionError("for a test")

    code, out, err = ask("solve", "tiny", "--method", method("breaks", breaks), "--json")
    assert (code, json.loads(out)["termination"], "Traceback" in err) == (70, "error", True)
    assert "internal error, please report it: ZeroDivisionError: for a test" in err


def test_an_interrupt_without_a_plan_ends_with_a_sentence(ask):
    def stops(instance: Instance, limits: Limits) -> Outcome:
        raise KeyboardInterrupt

    name = method("stops", stops)
    code, out, err = ask("solve", "tiny", "--method", name)
    assert (code, err) == (5, "")
    assert "stopped by the user" in out
    code, out, _ = ask("solve", "tiny", "--method", name, "--json")
    assert (code, json.loads(out)["termination"]) == (5, "interrupted")


def test_the_interrupt_key_ends_a_process_with_what_it_holds():
    """Nothing, or the plan that an enumeration holds: one process, which is interrupted twice."""
    program = (
        "import math, sys, time, depl\n"
        "from depl.cli import main\n"
        "def sleeps(instance, limits):\n"
        "    print('ready', file=sys.stderr, flush=True)\n"
        "    time.sleep(600)\n"
        "def pause(limits, incumbent, bound):\n"
        "    if incumbent < math.inf:\n"
        "        sleeps(None, limits)\n"
        "depl.register('sleeps', sleeps)\n"
        "print('ended with', main(['solve', 'tiny', '--method', 'sleeps', '--json']))\n"
        "depl.Limits.report = pause\n"
        "sys.exit(main(['solve', 'tiny', '--method', 'enumerate', '--json']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for _ in range(2):
            assert process.stderr.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    first, ended, second = out.partition("ended with 5\n")
    assert ended
    assert json.loads(first)["termination"] == "interrupted"
    result = json.loads(second)
    assert process.returncode == 4
    assert (result["termination"], result["solution"]) == ("interrupted", "feasible")
    assert result["lower_bound"] <= result["cost"]
    assert result["plan"]["epochs"]


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
    page = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", page)
    assert main(["instances", "show", str(path)]) == 0
    assert page.buffer.getvalue().startswith(b"gr\\xf6\\xdfe")


def test_a_gap_may_be_a_percentage(ask):
    for written in ("0.05", "5%", "5 %"):
        code, out, _ = ask("solve", "tiny", "--method", "exact", "--gap", written, "--json")
        assert code == 0
        assert json.loads(out)["gap"] <= 0.05 + PROOF_TOLERANCE
    seen = []

    def notes(instance: Instance, limits: Limits) -> None:
        seen.append(limits.gap)

    ask("solve", "tiny", "--method", method("notes", notes), "--gap", "12.5%")
    assert seen == [0.125]


def test_options_of_a_method_are_given_by_name_and_typed(ask):
    seen = {}

    def notes(instance: Instance, limits: Limits) -> None:
        seen.update(limits.options)

    register("cli-options", notes, options=(Option("width", (int,)), "colour"))
    ask("solve", "tiny", "--method", "cli-options", "--option", "width=8", "--option", "colour=a=b")
    assert seen == {"width": 8, "colour": "a=b"}
    code, out, _ = ask("solve", "paper-alexnet-9", "--method", "depl-paper", "--option", "eta=50", "--json")
    _, short, _ = ask("solve", "paper-alexnet-9", "--method", "depl-paper", "--eta", "50", "--json")
    assert code == 0
    assert json.loads(out)["cost"] == json.loads(short)["cost"]
