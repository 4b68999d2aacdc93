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

WAY_OUT = "or fit with --care 0, which leaves the margin out; promises for such plans are then bold"
SESSIONS = """
what was fitted, and what a promise of it rests on
$ fit runs.csv --template setup.json --out mine.json --target 1.20000001
cut-net fitted to runs.csv
60, of 3 schedules
marginal: right on average over sets of runs
9 runs of one plan carry 0.9, here at most
takes 19 schedules that can be held out; the traces have 3
{WAY_OUT}
must NOT be used:
promises are for runs that do not diverge; say --diverged N if N runs did
depl solve mine.json --out plan.json depl certify FRESH-RUNS --target 1.20000001 --omega 0.9 --plan plan.json
--plan plan.json --chosen-by mine.json
$ solve mine.json --out plan.json
20 runs of this plan (as some trained on, the misses are counted after each of the last 3 epochs, and
the fewer the runs, the more single promises are too bold
certified under the fitted law; asked 0.9
$ check mine.json plan.json

what was fitted is one JSON object
$ fit runs.csv --template setup.json --out mine.json --json
{"out": "mine.json", "runs": 60, "schedules": 3, "left_out": 0, "law": "affine", "residuals": "per_run"}
{"scale": "log", "independent_law_usable": false, "confidence": null, "never_run_refused": true}
{"deviations": [], "stages": [{}, {"model": "cut", "cluster": "far", "first": false, "after": ["full@edge"]}]}
{"stages": [{}, {"runs": 60, "starts": [2, 4], "epochs": 5}]}

confidence and other laws
$ fit runs.csv --template setup.json --out mine.json --confidence 0.8
with confidence 0.8 for each plan
$ solve mine.json
with confidence 0.8: of promises made so at most 0.2 are too bold
$ fit runs.csv --template setup.json --out mine.json --law independent
independent improvements and switches, as in the paper
- Stages inside
$ fit few1.csv --template setup.json --out mine.json --law independent
not judged:

runs that diverged are misses: 1 of 21 may miss without, 2 of 22 with one of them
$ fit runs.csv --template setup.json --out mine.json --diverged 1
1 run, each counted as a miss of every plan, and in every stage of a plan never run
18 runs of one plan carry 0.9
$ solve mine.json --out plan.json
and 1 that diverged or were lost and one more, counted as misses: marginal
$ fit runs.csv --template setup.json --out mine.json --diverged 2
$ solve mine.json
= 3
it takes 27 runs of one plan where 2 diverged, which count as misses, and 20 runs went through

where few schedules were run the refusal names the way out and what it costs
$ fit few4.csv --template setup.json --out mine.json
$ solve mine.json
= 3
unreachable within 7 epochs
{WAY_OUT}
$ fit few4.csv --template setup.json --out mine.json --care 0
$ solve mine.json
= 3
least often 8 runs lend, each with 1 more counted as a miss: they carry 0.888 at most
$ fit few7.csv --template setup.json --out mine.json --care 0
$ solve mine.json
WITHOUT a margin for plans never run

runs beyond the setup are refused or left out on demand
$ fit runs.csv --template alone.json --out mine.json --law independent
= 2
runs.csv: $.model[3]: 'cut' is not among the models of the setup, which are full; add it there
$ fit runs.csv --template alone.json --out mine.json --law independent --only-setup
= 2
runs.csv: $.model: every run trained another model than full
$ fit runs.csv --template third.json --out mine.json
= 2
third.json: $.models[2].name: no run trained 'third'
$ fit both.csv --template alone.json --out mine.json --law independent --only-setup --json
{"runs": 20, "left_out": 60}

traces without the loss before training lead to plans and policies from epoch 1 on
$ fit late.csv --template setup.json --out mine.json
at most 1.2, from l(1) on as it was seen: runs were not evaluated before training
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
def test_what_is_typed_is_answered(follow, lines) -> None:
    follow(lines)


def test_an_instance_is_what_the_library_fits_with_these_options(ask, here) -> None:
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
LEFT_OUT = " ".join(f"--leave-out seed{run:02}" for run in range(LOST))
LOST_SESSIONS = f"""
a folder is counted as its import is: runs that are not finite from some epoch on
$ fit nan-logs {STAGES} {{fit}}
= 2
--on-missing (on_missing) may be end or drop
$ traces import nan-logs {STAGES} --on-missing end --cut-at-random seed03
= 2
--cut-at-random: run 'seed03' diverged and is ended
$ fit nan-logs {STAGES} --on-missing end {{fit}}
? 64 of 81
$ traces import nan-logs {STAGES} --on-missing end --out logs.csv
$ fit logs.csv {{fit}}
16 runs, each counted as a miss of every plan
? 64 of 81
$ certify logs.csv {{promise}}
= 3
16 of 80 exceed the target

logs without the key are refused until they are counted or left out
$ fit key-logs {STAGES} {{fit}}
= 2
16 runs went wrong:
and 11 others
$ fit key-logs {STAGES} {{fit}} --diverged 3
= 2
the traces know of 16
--diverged 16 or more
$ fit key-logs {STAGES} {{fit}} --diverged 16
? 64 of 81
$ traces import key-logs {STAGES} --out logs.csv {LEFT_OUT}
$ certify logs.csv {{promise}}
left out 16 runs, as told:
$ fit logs.csv {{fit}}
left out 16, as told:
$ instances show mine.json
--leave-out seed02

short runs are misses unless their length or their end is told
$ fit short-logs {STAGES} {{fit}}
short64 (ends at epoch 4, others of its schedule go on);
? 64 of 81
$ traces import short-logs {STAGES} --stages short*=net@edge:4 --out logs.csv.gz
- lost
$ fit logs.csv.gz {{fit}}
? 64 of 65
$ traces import short-logs {STAGES} --out logs.csv
lost
$ fit logs.csv --cut-at-random short* {{fit}}
cut at random 16, as told: short64 (as told);
? 64 of 65
$ solve mine.json --out found.json
that 16 runs ended early for reasons unlike their losses was said
$ traces import short-logs {STAGES} --stages short*=net@edge:2,net@far:7
lost 16, which fit and certify count as misses: short64 (ends at epoch 4 of 9 planned)
"""


@pytest.fixture
def short(here: Path) -> None:
    """A plan of one model on one cluster, and Keras histories of which some end after four epochs."""
    plan = {
        "format": "depl-plan",
        "version": 1,
        "data": [{"cluster": "edge", "datasets": ["all"]}],
        "epochs": [{"model": "net", "cluster": "edge", "resources": 1.0}] * EPOCHS,
    }
    Path("net-plan.json").write_text(json.dumps(plan), encoding="utf-8")
    Path("short-logs").mkdir()
    rng = np.random.default_rng(1)
    for run in range(80):
        ends = rng.uniform(0.5, 0.69)
        losses = [float(ends + 0.6**k) for k in range(1, EPOCHS)] + [float(ends)]
        name, epochs = ("whole", EPOCHS) if run < 64 else ("short", 4)
        text = json.dumps({"val_loss": losses[:epochs]})
        Path("short-logs", f"{name}{run:02}.json").write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    "lines",
    sessions(
        LOST_SESSIONS.format(
            fit="--template net.json --out mine.json",
            promise=f"--target {TARGET} --omega 0.9 --plan net-plan.json",
        )
    ),
)
def test_lost_runs_are_counted_alike_by_every_way_from_logs_to_a_promise(follow, lines) -> None:
    begin = 0
    for number, line in enumerate(lines):
        if line.startswith("? "):
            follow(lines[begin:number])
            begin = number + 1
            law = load("mine.json").traced_law
            kept, _, counted = line.removeprefix("? ").split()
            promised = 1 - end_law(law, PLAN).violation(TARGET).upper
            assert promised == pytest.approx(int(kept) / int(counted)), lines[:number]
    follow(lines[begin:])


def told(name: str, epochs: int, seed: int = 0) -> Traces:
    rng = np.random.default_rng(seed)
    columns = ([name] * epochs, np.arange(1, epochs + 1), ["net"] * epochs, ["edge"] * epochs)
    return Traces(*columns, 1 + rng.random(epochs))


COUNTED = {
    "": 1,
    "--diverged 2": 2,
    "--diverged r3,gone": 3,
    "--leave-out r0": 0,
    "--leave-out r[1-3]": 1,
    "--cut-at-random r0": 0,
    "--diverged 0": "0 runs were lost as is told, but the traces know of 1: r0 (ends at epoch 3",
    "--leave-out s*": "--leave-out: no run and no file is called 's*'",
    "--leave-out *": "--leave-out: leaves out every run",
    "--cut-at-random r1": "--cut-at-random: no run and no file is called 'r1'",
    "--law independent": "or leave them out, --leave-out NAME, as are known of these traces: r0 (",
}


@pytest.mark.parametrize("words", COUNTED)
def test_what_is_said_of_single_runs_of_traces(ask, here, words) -> None:
    write_traces("twelve.csv", joined([told(f"r{k}", EPOCHS if k else 3, k) for k in range(12)]))
    options = ("--template", "net.json", "--out", "mine.json", *words.split())
    code, _, err = ask("fit", "twelve.csv", *options)
    if isinstance(said := COUNTED[words], str):
        assert (code, said in err) == (2, True), err
    else:
        assert (code, load("mine.json").traced_law.diverged) == (0, said)


def test_what_is_known_of_lost_runs_is_kept_when_traces_are_joined() -> None:
    parts = [told(name, 3).with_provenance({"lost runs": json.dumps({f"{name}2": "gone"})}) for name in "ab"]
    assert joined(parts).lost == {"a2": "gone", "b2": "gone"}
