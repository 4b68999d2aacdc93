"""``depl fit``: the file that it writes, what it says, its JSON, exit codes, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

from depl.commands import fit
from depl.instances.library import load
from depl.models.estimation import instance as fitted
from depl.models.estimation.instance import fit_instance
from depl.models.traces.files import write_traces
from depl.models.traces.table import Traces, joined
from tests.cases.documents import put
from tests.cases.fit_cases import SETUP, drawn, setup, without_first_epoch

WORDS = ("--template", "setup.json", "--out", "mine.json")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with traces and a setup, in which the command is called; p-values are of few resamples."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fit, "_RESAMPLES", 19)
    monkeypatch.setattr(fitted, "_RESAMPLES", 9)
    write_traces(tmp_path / "runs.csv", drawn())
    (tmp_path / "setup.json").write_text("// a comment\n" + json.dumps(SETUP), encoding="utf-8")
    return tmp_path


def begun(traces: Traces) -> Traces:
    """The first three epochs of the runs that train the full model in all of them."""
    chosen = traces.select(np.arange(10, 30))
    kept = chosen.epoch <= 3
    columns = (getattr(chosen, name)[kept] for name in ("run", "epoch", "model", "cluster", "loss"))
    return Traces(*columns, {name: column[kept] for name, column in chosen.metrics.items()})


def test_traces_and_a_setup_become_an_instance_that_can_be_solved(ask) -> None:
    code, text, err = ask("fit", "runs.csv", *WORDS)
    assert (code, err) == (0, "instance written to mine.json\n")
    assert load("mine.json") == fit_instance(drawn(), setup())
    lines = text.splitlines()
    assert lines[0].split(maxsplit=1) == ["cut-net", "fitted to runs.csv"]
    assert lines[1].split(maxsplit=1) == ["runs", "60, of 3 schedules"]
    assert lines[2].split(maxsplit=1) == ["models", "full, cut"]
    assert lines[3].split(maxsplit=1)[1] == "affine of the logarithm of the loss, residuals kept per run"
    assert lines[4].split(maxsplit=1)[1].startswith("marginal: right on average over sets of runs")
    assert lines[5].split(maxsplit=1)[1].startswith("9 runs of one plan carry 0.9, here at most ")
    assert lines[6].split(maxsplit=2)[2].startswith("refused: plans that fewer than 6 runs went through need")
    assert "takes 19 schedules that can be held out; the traces have 3" in lines[6]
    assert (
        "or fit with --care 0, which leaves the margin out; promises for such plans are then bold" in lines[6]
    )
    assert "0.9-quantile of the final loss at most 1.2, from 3" in text
    assert "independent law" in text
    code, text, _ = ask("solve", "mine.json", "--method", "enumerate", "--out", "plan.json")
    assert code == 0
    assert "proved cheapest" in text
    assert ask("check", "mine.json", "plan.json")[0] == 0


def test_what_a_promise_rests_on_is_printed_beside_it(ask) -> None:
    ask("fit", "runs.csv", *WORDS)
    code, text, _ = ask("solve", "mine.json", "--method", "enumerate")
    (line,) = [line for line in text.splitlines() if line.startswith("rests on")]
    assert code == 0
    assert line.split(maxsplit=2)[2].startswith(
        "20 runs of this plan (as some trained on, the misses are counted after each of the last 3 epochs, "
        "and the most count) and one more counted as a miss: marginal, "
    )
    assert line.endswith("the fewer the runs, the more single promises are too bold")
    assert "certified under the fitted law; asked 0.9" in text
    assert ask("fit", "runs.csv", *WORDS, "--confidence", 0.8)[0] == 0
    text = ask("solve", "mine.json", "--method", "enumerate")[1]
    assert "with confidence 0.8: of promises made so at most 0.2 are too bold" in text


def test_runs_that_diverged_are_counted_as_misses_and_said_to_be(ask) -> None:
    """All twenty runs of the plan keep 1.2: 1 of 21 may miss without, 2 of 22 with one that diverged."""
    bare = ask("fit", "runs.csv", *WORDS)[1]
    assert "promises are for runs that do not diverge; say --diverged N if N runs did" in bare
    code, text, _ = ask("fit", "runs.csv", *WORDS, "--diverged", 1)
    assert code == 0
    assert "1 run, each counted as a miss of every plan, and in every stage of a plan never run" in text
    assert "each n of a plan with 1 that diverged or were lost and one more as misses" in text
    assert "18 runs of one plan carry 0.9" in text
    code, text, _ = ask("solve", "mine.json", "--out", "plan.json")
    assert code == 0
    assert "and 1 that diverged or were lost and one more, counted as misses: marginal" in text
    assert ask("check", "mine.json", "plan.json")[0] == 0
    assert ask("fit", "runs.csv", *WORDS, "--diverged", 2)[0] == 0
    code, text, _ = ask("solve", "mine.json")
    assert code == 3
    needed = "it takes 27 runs of one plan where 2 diverged, which count as misses, and 20 runs went through"
    assert needed in text
    code, _, err = ask("fit", "runs.csv", *WORDS, "--diverged", "-3")
    assert (code, "-3 is no number of runs from 0 to 1000" in err) == (2, True)


def test_where_few_schedules_were_run_the_refusal_names_the_way_out_and_what_it_costs(ask, here) -> None:
    way_out = "or fit with --care 0, which leaves the margin out; promises for such plans are then bold"
    for runs, why in ((2, "it takes 9 runs of one plan, and 6 runs"), (4, "unreachable within 7 epochs")):
        write_traces(here / "few.csv", drawn(runs))
        assert ask("fit", "few.csv", *WORDS)[0] == 0
        code, text, _ = ask("solve", "mine.json")
        assert (code, why in text, way_out in text) == (3, True, True)
    assert ask("fit", "few.csv", *WORDS, "--care", 0)[0] == 0
    told = "least often 8 runs lend, each with 1 more counted as a miss: they carry 0.888 at most"
    assert told in ask("solve", "mine.json")[1]
    write_traces(here / "few.csv", drawn(7))
    assert ask("fit", "few.csv", *WORDS, "--care", 0)[0] == 0
    assert "WITHOUT a margin for plans never run" in ask("solve", "mine.json")[1]


def test_traces_with_a_loss_that_is_no_number_are_refused_with_what_counts_them(ask, here) -> None:
    lines = (here / "runs.csv").read_text().splitlines()
    cells = lines[-1].split(",")
    (here / "lost.csv").write_text("\n".join([*lines[:-1], ",".join([*cells[:-1], "nan"])]) + "\n")
    code, _, err = ask("fit", "lost.csv", *WORDS)
    assert code == 2
    assert "depl fit --diverged N" in err


def test_the_verdict_on_the_independent_law_is_told_in_one_line(ask, here) -> None:
    (line,) = [
        line for line in ask("fit", "runs.csv", *WORDS)[1].splitlines() if line.startswith("independent")
    ]
    assert "must NOT be used: " in line
    write_traces(here / "few.csv", drawn(1))
    text = ask("fit", "few.csv", *WORDS, "--law", "independent")[1]
    (line,) = [line for line in text.splitlines() if line.startswith("independent law")]
    assert "not judged: " in line


def test_what_comes_next_names_the_files_and_the_promise_to_its_last_digit(ask) -> None:
    text = ask("fit", "runs.csv", *WORDS, "--target", 1.20000001)[1]
    assert text.splitlines()[-2:] == [
        "  depl solve mine.json --out plan.json",
        "  depl certify FRESH-RUNS --target 1.20000001 --omega 0.9 --plan plan.json --chosen-by mine.json",
    ]


def test_options_change_law_target_and_name(ask) -> None:
    words = ("--law", "independent", "--target", 0.9, "--name", "other")
    code, text, _ = ask("fit", "runs.csv", *WORDS, *words)
    assert code == 0
    assert "independent improvements and switches, as in the paper" in text
    assert "Stages inside" not in text
    instance = load("mine.json")
    assert (instance.name, instance.target.maximum_loss, instance.traced_law) == ("other", 0.9, None)
    ask("fit", "runs.csv", *WORDS, "--residuals", "independent")
    assert load("mine.json").traced_law.residuals == "independent"
    text = ask("fit", "runs.csv", *WORDS, "--scale", "loss")[1]
    assert "affine, residuals kept per run" in text
    assert load("mine.json").traced_law.scale == "loss"


def test_a_confidence_asks_for_more_runs_and_is_named(ask) -> None:
    text = ask("fit", "runs.csv", *WORDS, "--confidence", "0.95")[1]
    assert "with confidence 0.95 for each plan" in text
    assert "29 runs of one plan carry 0.9, here at most " in text
    assert load("mine.json").traced_law.confidence == 0.95
    code, _, err = ask("fit", "runs.csv", *WORDS, "--confidence", "0.4")
    assert code == 2
    assert "argument --confidence: 0.4 is not in the range 0.5<=x<1" in err


def test_json_holds_what_was_fitted(ask) -> None:
    code, text, err = ask("fit", "runs.csv", *WORDS, "--json")
    content = json.loads(text)
    assert (code, err) == (0, "instance written to mine.json\n")
    assert content["out"] == "mine.json"
    assert content["fingerprint"] == load("mine.json").fingerprint
    assert (content["runs"], content["schedules"], content["left_out"]) == (60, 3, 0)
    assert (content["law"], content["residuals"], content["scale"]) == ("affine", "per_run", "log")
    assert content["independent_law_usable"] is False
    assert (content["confidence"], content["never_run_refused"], content["deviations"]) == (None, True, [])
    assert content["stages"][1] == {
        "model": "cut",
        "cluster": "far",
        "first": False,
        "after": ["full@edge"],
        "runs": 60,
        "starts": [2, 4],
        "epochs": 5,
    }


def test_runs_beyond_the_setup_are_refused_or_left_out_on_demand(ask, here) -> None:
    alone = SETUP | {"models": SETUP["models"][:1]}
    (here / "alone.json").write_text(json.dumps(alone), encoding="utf-8")
    words = ("--template", "alone.json", "--out", "mine.json", "--law", "independent")
    code, out, err = ask("fit", "runs.csv", *words)
    assert (code, out) == (2, "")
    assert (
        "runs.csv: $.model[3]: 'cut' is not among the models of the setup, which are full; add it there"
        in err
    )
    assert not (here / "mine.json").exists()
    code, _, err = ask("fit", "runs.csv", *words, "--only-setup")
    assert code == 2
    assert "runs.csv: $.model: every run trained another model than full" in err
    more = SETUP | {"models": [*SETUP["models"], SETUP["models"][0] | {"name": "third"}]}
    (here / "more.json").write_text(json.dumps(more), encoding="utf-8")
    _, _, err = ask("fit", "runs.csv", "--template", "more.json", "--out", "mine.json")
    assert "more.json: $.models[2].name: no run trained 'third'" in err
    write_traces(here / "both.csv", joined([drawn(), begun(drawn(10, prefix="other"))]))
    content = json.loads(ask("fit", "both.csv", *words, "--only-setup", "--json")[1])
    assert (content["runs"], content["left_out"]) == (20, 60)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--template", "none", "--out", "a.json"), "no shipped setup and no file is called 'none'"),
        (("--template", "none.json", "--out", "a.json"), "none.json: cannot be read"),
        (("--template", "setup.json", "--out", "no/a.json"), "there is no folder 'no'"),
        (("--template", "setup.json", "--out", "."), "is a folder"),
        ((*WORDS, "--target", "nan"), "--target: must be a finite number"),
        ((*WORDS, "--metric", "error_rate"), "--metric: the traces hold no error_rate"),
        ((*WORDS, "--law", "linear"), "'linear' is no choice"),
        (("--out", "a.json"), "the following arguments are required: --template"),
    ],
)
def test_wrong_words_are_refused(ask, here, words, message) -> None:
    code, out, err = ask("fit", "runs.csv", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert not (here / "mine.json").exists()


def test_a_setup_that_is_none_is_refused_with_file_and_place(ask, here) -> None:
    wrong = put(SETUP, "clusters[1].capacity", -4)
    (here / "setup.json").write_text(json.dumps(wrong), encoding="utf-8")
    code, _, err = ask("fit", "runs.csv", *WORDS)
    assert code == 2
    assert "setup.json: $.clusters[1].capacity" in err
    (here / "setup.json").write_text("{}", encoding="utf-8")
    assert ask("fit", "runs.csv", *WORDS)[0] == 2


def test_traces_without_the_loss_before_training_lead_to_a_checked_plan(ask, here) -> None:
    write_traces(here / "late.csv", without_first_epoch(drawn()))
    code, text, _ = ask("fit", "late.csv", *WORDS)
    assert code == 0
    assert "at most 1.2, from l(1) on as it was seen: runs were not evaluated before training" in text
    assert ask("solve", "mine.json", "--method", "enumerate", "--out", "plan.json")[0] == 0
    assert ask("check", "mine.json", "plan.json")[0] == 0
    assert "ln l(1) as it was seen" in ask("explain", "mine.json", "plan.json")[1]
    assert "l(1) on, as runs were not evaluated" in ask("instances", "show", "mine.json")[1]


def test_traces_without_the_loss_before_training_lead_to_a_policy_that_decides_from_epoch_1_on(
    ask, here
) -> None:
    write_traces(here / "late.csv", without_first_epoch(drawn()))
    ask("fit", "late.csv", *WORDS)
    code, _, err = ask("policy", "solve", "mine.json")
    assert code == 2
    for condition in (
        "--care 0",
        "6 runs at least must have trained",
        "a loss before the first epoch is not",
    ):
        assert condition in err
    ask("fit", "late.csv", *WORDS, "--care", "0")
    assert ask("policy", "solve", "mine.json", "--out", "policy.json", "--gap", "0.1")[0] == 0
    assert ask("policy", "check", "mine.json", "policy.json")[0] == 0
    (here / "run.jsonl").write_text('{"epoch": 1, "loss": 1.6}\n', encoding="utf-8")
    code, text, _ = ask("policy", "decide", "policy.json", "--log", "run.jsonl")
    assert code in (0, 10)
    assert "train epoch 2" in text
