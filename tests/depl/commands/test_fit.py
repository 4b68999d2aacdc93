"""``depl fit``: the file that it writes, what it says, its JSON, and what plans of it then rest on."""

import json
from pathlib import Path

import numpy as np
import pytest

from depl.instances.library import load
from depl.models.estimation.instance import fit_instance
from depl.models.traces.files import write_traces
from depl.models.traces.table import Traces, joined
from tests.cases.fit_cases import SETUP, drawn, setup, without_first_epoch

OUT = ("--out", "mine.json")
WORDS = ("--template", "setup.json", *OUT)


def test_traces_and_a_setup_become_an_instance_and_what_was_fitted_is_one_object(ask, here) -> None:
    code, text, err = ask("fit", "runs.csv", *WORDS, "--json")
    content, found = json.loads(text), load("mine.json")
    assert (code, err) == (0, "instance written to mine.json\n")
    assert found == fit_instance(drawn(), setup())
    assert (content["out"], content["fingerprint"]) == ("mine.json", found.fingerprint)
    assert (content["runs"], content["schedules"], content["left_out"]) == (60, 3, 0)
    assert (content["law"], content["residuals"], content["scale"]) == ("affine", "per_run", "log")
    assert content["independent_law_usable"] is False
    assert (content["confidence"], content["never_run_refused"], content["deviations"]) == (None, True, [])
    stage = {"model": "cut", "cluster": "far", "first": False, "after": ["full@edge"], "runs": 60}
    assert content["stages"][1] == stage | {"starts": [2, 4], "epochs": 5}


WAY_OUT = "or fit with --care 0, which leaves the margin out; promises for such plans are then bold"
SAID = {
    "runs.csv": (
        "cut-net fitted to runs.csv",
        "60, of 3 schedules",
        "full, cut",
        "affine of the logarithm of the loss, residuals kept per run",
        "marginal: right on average over sets of runs",
        "9 runs of one plan carry 0.9, here at most ",
        "refused: plans that fewer than 6 runs went through need",
        "takes 19 schedules that can be held out; the traces have 3",
        WAY_OUT,
        "0.9-quantile of the final loss at most 1.2, from 3",
        "must NOT be used: ",
        "promises are for runs that do not diverge; say --diverged N if N runs did",
    ),
    "runs.csv --diverged 1": (
        "1 run, each counted as a miss of every plan, and in every stage of a plan never run",
        "each n of a plan with 1 that diverged or were lost and one more as misses",
        "18 runs of one plan carry 0.9",
    ),
    "runs.csv --confidence 0.95": (
        "with confidence 0.95 for each plan",
        "29 runs of one plan carry 0.9, here at most ",
    ),
    "runs.csv --law independent": ("independent improvements and switches, as in the paper",),
    "runs.csv --scale loss": ("affine, residuals kept per run",),
    "few1.csv --law independent": ("not judged: ",),
    "late.csv": ("at most 1.2, from l(1) on as it was seen: runs were not evaluated before training",),
    "runs.csv --target 1.20000001": (
        "depl solve mine.json --out plan.json depl certify FRESH-RUNS --target 1.20000001 --omega 0.9 "
        "--plan plan.json --chosen-by mine.json",
    ),
}
"""What `depl fit` prints, as words; what comes next names the files and the promise to its last digit."""


@pytest.fixture
def more(here: Path) -> Path:
    """Traces of few runs of each schedule, and such as were not evaluated before training."""
    for runs in (1, 2, 4, 7):
        write_traces(here / f"few{runs}.csv", drawn(runs))
    write_traces(here / "late.csv", without_first_epoch(drawn()))
    return here


@pytest.mark.parametrize("words", SAID)
def test_what_was_fitted_is_told(ask, more, words) -> None:
    code, text, _ = ask("fit", *words.split(), *WORDS)
    assert code == 0
    assert [said for said in SAID[words] if said not in " ".join(text.split())] == []
    assert ("Stages inside" in text) == ("independent" not in words)


RESTS = {
    "runs.csv": (
        0,
        "20 runs of this plan (as some trained on, the misses are counted after each of the last 3 epochs, "
        "and the most count) and one more counted as a miss: marginal, ",
        "the fewer the runs, the more single promises are too bold",
        "certified under the fitted law; asked 0.9",
    ),
    "runs.csv --confidence 0.8": (0, "with confidence 0.8: of promises made so at most 0.2 are too bold"),
    # all twenty runs of the plan keep 1.2: 1 of 21 may miss without, 2 of 22 with one that diverged
    "runs.csv --diverged 1": (
        0,
        "and 1 that diverged or were lost and one more, counted as misses: marginal",
    ),
    "runs.csv --diverged 2": (
        3,
        "it takes 27 runs of one plan where 2 diverged, which count as misses, and 20 runs went through",
    ),
    "few2.csv": (3, "it takes 9 runs of one plan, and 6 runs", WAY_OUT),
    "few4.csv": (3, "unreachable within 7 epochs", WAY_OUT),
    "few4.csv --care 0": (
        3,
        "least often 8 runs lend, each with 1 more counted as a miss: they carry 0.888 at most",
    ),
    "few7.csv --care 0": (0, "WITHOUT a margin for plans never run"),
    "late.csv": (0, "certified under the fitted law; asked 0.9"),
}
"""The exit code of `depl solve` on what was fitted, and what its promise rests on."""


@pytest.mark.parametrize("words", RESTS)
def test_what_a_promise_rests_on_is_printed_beside_it_and_its_plan_holds(ask, more, words) -> None:
    wanted, *said = RESTS[words]
    assert ask("fit", *words.split(), *WORDS)[0] == 0
    code, text, _ = ask("solve", "mine.json", "--out", "plan.json")
    assert code == wanted
    assert [part for part in said if part not in " ".join(text.split())] == []
    assert code or ask("check", "mine.json", "plan.json")[0] == 0


def test_options_change_law_target_and_name(ask, here) -> None:
    fitted = {}
    for words in (
        "--law independent --target 0.9 --name other",
        "--residuals independent",
        "--scale loss --confidence 0.95",
    ):
        assert ask("fit", "runs.csv", *WORDS, *words.split())[0] == 0
        fitted[words.split()[0]] = load("mine.json")
    independent = fitted["--law"]
    assert (independent.name, independent.target.maximum_loss) == ("other", 0.9)
    assert independent.traced_law is None
    assert fitted["--residuals"].traced_law.residuals == "independent"
    assert fitted["--scale"].traced_law.scale == "loss"
    assert fitted["--scale"].traced_law.confidence == 0.95


def begun(traces: Traces) -> Traces:
    """The first three epochs of the runs that train the full model in all of them."""
    chosen = traces.select(np.arange(10, 30))
    kept = chosen.epoch <= 3
    columns = (getattr(chosen, name)[kept] for name in ("run", "epoch", "model", "cluster", "loss"))
    return Traces(*columns, {name: column[kept] for name, column in chosen.metrics.items()})


def test_runs_beyond_the_setup_are_refused_or_left_out_on_demand(ask, here) -> None:
    full = SETUP["models"][0]
    for name, models in (("alone", [full]), ("more", [*SETUP["models"], full | {"name": "third"}])):
        (here / f"{name}.json").write_text(json.dumps(SETUP | {"models": models}), encoding="utf-8")
    alone = ("--template", "alone.json", *OUT, "--law", "independent")
    write_traces(here / "both.csv", joined([drawn(), begun(drawn(10, prefix="other"))]))
    for words, said in (
        (alone, "runs.csv: $.model[3]: 'cut' is not among the models of the setup, which are full; add it"),
        ((*alone, "--only-setup"), "runs.csv: $.model: every run trained another model than full"),
        (("--template", "more.json", *OUT), "more.json: $.models[2].name: no run trained 'third'"),
    ):
        code, out, err = ask("fit", "runs.csv", *words)
        assert (code, out, said in err) == (2, "", True), err
        assert not (here / "mine.json").exists()
    content = json.loads(ask("fit", "both.csv", *alone, "--only-setup", "--json")[1])
    assert (content["runs"], content["left_out"]) == (20, 60)


def test_traces_without_the_loss_before_training_lead_to_plans_and_policies_from_epoch_1_on(
    ask, more
) -> None:
    assert ask("fit", "late.csv", *WORDS)[0] == 0
    assert ask("solve", "mine.json", "--out", "plan.json")[0] == 0
    assert "ln l(1) as it was seen" in ask("explain", "mine.json", "plan.json")[1]
    assert "l(1) on, as runs were not evaluated" in ask("instances", "show", "mine.json")[1]
    code, _, err = ask("policy", "solve", "mine.json")
    conditions = ("--care 0", "6 runs at least must have trained", "a loss before the first epoch is not")
    assert (code, [condition in err for condition in conditions]) == (2, [True] * 3)
    ask("fit", "late.csv", *WORDS, "--care", "0")
    assert ask("policy", "solve", "mine.json", "--out", "policy.json", "--gap", "0.1")[0] == 0
    assert ask("policy", "check", "mine.json", "policy.json")[0] == 0
    (more / "run.jsonl").write_text('{"epoch": 1, "loss": 1.6}\n', encoding="utf-8")
    code, text, _ = ask("policy", "decide", "policy.json", "--log", "run.jsonl")
    assert code in (0, 10)
    assert "train epoch 2" in text
