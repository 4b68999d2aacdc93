"""``depl fit`` and what becomes of it: what is said, what promises rest on, and how lost runs are counted."""

import json
from pathlib import Path

import numpy as np
import pytest

from depl.instances.library import load
from depl.models.estimation.instance import fit_instance
from depl.models.evaluation.traced_loss import end_law
from depl.models.traces.files import write_traces
from depl.models.traces.table import Traces, joined
from tests.cases.fit_cases import drawn, setup
from tests.cases.lost_run_cases import EPOCHS, LOST, PLAN, TARGET
from tests.depl.commands.conftest import sessions
from tests.problems import plan

WAY_OUT = "or fit with --care 0, which leaves the margin out; promises for such plans are then bold"
SESSIONS = """
what was fitted, and what a promise of it rests on
$ fit runs.csv --template setup.json --out mine.json --target 1.20000001
takes 19 schedules that can be held out; the traces have 3
{WAY_OUT}
must NOT be used:
depl solve mine.json --out plan.json depl certify FRESH-RUNS --plan plan.json --chosen-by mine.json
$ solve mine.json --out plan.json
20 runs of this plan (as some trained on, the misses are counted after each of the last 3 epochs, and
certified under the fitted law; asked 0.9
$ check mine.json plan.json

what was fitted is one JSON object
$ fit runs.csv --template setup.json --out mine.json --json
{"out": "mine.json", "runs": 60, "schedules": 3, "law": "affine", "residuals": "per_run"}
{"scale": "log", "independent_law_usable": false, "confidence": null, "never_run_refused": true}
{"deviations": [], "stages": [{}, {"model": "cut", "cluster": "far", "first": false, "after": ["full@edge"]}]}
{"stages": [{}, {"runs": 60, "starts": [2, 4], "epochs": 5}]}

confidence and other laws
$ fit runs.csv --template setup.json --out mine.json --confidence 0.8
$ solve mine.json
with confidence 0.8: of promises made so at most 0.2 are too bold
$ fit few1.csv --template setup.json --out mine.json --law independent
not judged:

runs that diverged are misses, and where few schedules were run the refusal names the way out
$ fit runs.csv --template setup.json --out mine.json --diverged 2
$ solve mine.json
= 3
it takes 27 runs of one plan where 2 diverged, which count as misses, and 20 runs went through
$ fit few4.csv --template setup.json --out mine.json
$ solve mine.json
= 3
{WAY_OUT}
$ fit few7.csv --template setup.json --out mine.json --json
{"next_runs": {"cost": null, "most_saved": null, "options": [{"seen": 7, "advised": {"runs": 2}}]}}
$ solve mine.json
= 3
What to run next:
2 more of 3 full@edge, 2 cut@far, trained on to 3 full@edge, 4 cut@far as others were: promised at 6.02297
$ fit few7.csv --template setup.json --out mine.json --care 0
$ solve mine.json
WITHOUT a margin for plans never run

runs beyond the setup are refused
$ fit runs.csv --template alone.json --out mine.json --law independent
= 2
runs.csv: $.model[3]: 'cut' is not among the models of the setup, which are full; add it there
$ fit runs.csv --template third.json --out mine.json
= 2
third.json: $.models[2].name: no run trained 'third'

traces without the loss before training lead to plans and policies from epoch 1 on
$ fit late.csv --template setup.json --out mine.json
$ solve mine.json --out plan.json
$ explain mine.json plan.json
ln l(1) as it was seen
$ policy solve mine.json
= 2
--care 0
a loss before the first epoch is not
$ fit late.csv --template setup.json --out mine.json --care 0
$ policy solve mine.json --out policy.json --gap 0.1
$ policy check mine.json policy.json
> run.jsonl {"epoch": 1, "loss": 1.6}
$ policy decide policy.json --log run.jsonl
train epoch 2
"""


@pytest.mark.parametrize("lines", sessions(SESSIONS.replace("{WAY_OUT}", WAY_OUT)))
def test_what_is_typed_is_answered(follow, lines):
    follow(lines)


def test_an_instance_is_what_the_library_fits_with_these_options(ask, here):
    words = ("fit", "runs.csv", "--template", "setup.json", "--out", "mine.json")
    told = json.loads(ask(*words, "--json")[1])
    assert load("mine.json") == fit_instance(drawn(), setup())
    assert told["fingerprint"] == load("mine.json").fingerprint
    ask(*words, "--law", "independent", "--target", 0.9, "--name", "other")
    found = load("mine.json")
    assert (found.name, found.target.maximum_loss, found.traced_law) == ("other", 0.9, None)
    ask(*words, "--scale", "loss", "--confidence", 0.95)
    law = load("mine.json").traced_law
    assert (law.residuals, law.scale, law.confidence) == ("per_run", "loss", 0.95)
    ask(*words, "--residuals", "independent")
    assert load("mine.json").traced_law.residuals == "independent"


# --- runs that were lost --------------------------------------------------------------------------------

STAGES = "--loss val_loss --stages net@edge"
FIT = "--template net.json --out mine.json"
LEFT_OUT = " ".join(f"--leave-out seed{run:02}" for run in range(LOST))
CERTIFY = f"certify logs.csv --target {TARGET} --omega 0.9 --plan net-plan.json"
WAYS = {
    f"fit nan-logs {STAGES} --on-missing end {FIT}": "64 of 81",
    f"traces import nan-logs {STAGES} --on-missing end --out logs.csv": 0,
    f"fit logs.csv {FIT}": "64 of 81",
    CERTIFY: 3,
    CERTIFY.replace("logs.csv", "nan-logs --loss val_loss --on-missing end"): 3,  # the stages are the plan's
    f"traces import nan-logs {STAGES} --on-missing end --cut-at-random seed03": 2,
    f"fit key-logs {STAGES} {FIT}": 2,
    f"fit key-logs {STAGES} {FIT} --diverged 3": 2,
    f"fit key-logs {STAGES} {FIT} --diverged 16": "64 of 81",
    f"traces import key-logs {STAGES} --out logs.csv {LEFT_OUT}": 0,
    f"fit logs.csv --name left-out {FIT}": "64 of 65",
    f"{CERTIFY} --json": 0,
}
"""Lines that are typed one after the other, with their exit code, or the runs that keep a promise of all."""


def test_lost_runs_are_counted_alike_by_every_way_from_logs_to_a_promise(ask, here):
    """Their formats and the ways in which they are lost are those of the tests of the readers."""
    Path("net-plan.json").write_text(plan(*PLAN, data=("all",)).to_json(), encoding="utf-8")
    for line, wanted in WAYS.items():
        code, _, err = ask(*line.split())
        assert code == (0 if isinstance(wanted, str) else wanted), (line, err)
        if isinstance(wanted, str):
            promised = 1 - end_law(load("mine.json").traced_law, PLAN).violation(TARGET).upper
            kept, _, counted = wanted.split()
            assert promised == pytest.approx(int(kept) / int(counted)), line


def told(name, epochs, seed=0):
    rng = np.random.default_rng(seed)
    columns = ([name] * epochs, np.arange(1, epochs + 1), ["net"] * epochs, ["edge"] * epochs)
    return Traces(*columns, 1 + rng.random(epochs))


COUNTED = {
    "": 1,
    "--diverged 2": 2,
    "--diverged r3,gone": 3,
    "--leave-out r0": 0,
    "--cut-at-random r0": 0,
    "--diverged 0": "0 runs were lost as is told, but the traces know of 1: r0 (ends at epoch 3",
    "--leave-out s*": "--leave-out: no run and no file is called 's*'",
    "--law independent": "or leave them out, --leave-out NAME, as are known of these traces: r0 (",
}


@pytest.mark.parametrize("words", COUNTED)
def test_what_is_said_of_single_runs_of_traces(ask, here, words):
    write_traces("twelve.csv", joined([told(f"r{k}", EPOCHS if k else 3, k) for k in range(12)]))
    options = ("--template", "net.json", "--out", "mine.json", *words.split())
    code, _, err = ask("fit", "twelve.csv", *options)
    if isinstance(said := COUNTED[words], str):
        assert (code, said in err) == (2, True), err
    else:
        assert (code, load("mine.json").traced_law.diverged) == (0, said)
