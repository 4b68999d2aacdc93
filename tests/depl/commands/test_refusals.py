"""What no command does, whatever it reads: exit code 2, what is wrong and what to do, and nothing written."""

import json
import shlex
import shutil
from functools import partial

import numpy as np
import pytest

from depl.instances.training import families
from depl.models.solving.methods import register
from depl.models.traces.files import read_traces, write_traces
from depl.models.traces.stages import PLAN, plan_text
from depl.starting import JSON
from tests.cases.command_line import leaves, options_of
from tests.cases.documents import RICH, put
from tests.cases.policy_files import document
from tests.cases.sweep_cases import blanks, write_store
from tests.cases.training_cases import small_family
from tests.problems import plan

LEAVES = dict(leaves())

USAGE = """
dance | there is no command 'dance'; known are start, instances, solve,
-v | there is no option -v; known are --version, --help
solve tiny -json | there is no option -json; did you mean '--json'?
instances lsit | there is no action 'lsit'; did you mean 'list'?
solve tiny --mehtod=exact | there is no option --mehtod; did you mean '--method'?
solve tiny --out --jsn | argument --out: needs a value; if it is --jsn, write --out=--jsn
solve tiny tiny | got unexpected extra argument (tiny)
solve | the following arguments are required: INSTANCE
solve tiny --gap small | must be a share such as 0.05, or a percentage such as 5%
solve tiny --option width | must be KEY=VALUE, not 'width'
solve tiny --scenarios many | must be a whole number from 1 on, or an .npz file, not
solve tiny --s 5 | did you mean '--seed' or '--scenarios' or '--stop-when-stuck'?
solve tiny --seed -1 | argument --seed: -1 is not in the range x>=0
report tiny plan.json --no-prizes | did you mean '--no-prices'
diagnose digits-alexnet --figure fig.png.gz | figures are written as .png, .svg or .pdf, not as .gz
fit x --template t --out o --care 1 | --care: 1.0 is not in the range 0<=x<1
train --family points --out x.csv --switch-epochs 0,2 | 0 is not in the range x>=1
policy solve two.json --failure-cost cheap | must be a positive and finite number, or ratio, not 'cheap'
policy solve two.json --switch-epochs 4;6 | must be epochs such as 4,6,8 or 4-34
policy solve two.json --data site | must be a cluster and datasets such as edge=lidar,archive, not 'site'
lessons export 0 --to new | 0
report instance.json plan.json --time-limit 0 | must be positive
start runs.csv --price edge=-2 | argument --price: -2.0 is not in the range x>0
start runs.csv --time-limit 0 | must be positive and finite seconds
bench run paper --seconds 0 | --seconds: must be positive
bench run paper --workers 0 | --workers:
fit runs.csv --template setup.json --out a.json --diverged -3 | -3 is no number of runs from 0 to 1000
train --stages a@b --switch-epochs 2 --epochs 6 --family points --out x.csv | must be two stages MODEL@CLUSTER
figures --paper 5 --methods depl,depl | different names
"""
"""A command line, and what the parser says of it."""

INPUTS = """
solve tiny --method magic | no method 'magic'; known are
solve tiny --method scenario-search --memory 0.00001 | GiB of memory, of at most
solve paper-alexnt | did you mean 'paper-alexnet'
solve zzz | known are digits-alexnet, digits-mobilenet, paper-alexnet,
knapsack . | .: cannot be read (Is a directory)
knapsack f11 | no file and no shipped knapsack 'f11'
knapsack knapPI_1_100_1000_1 --fewer-items | --fewer-items: is for files of --chance
knapsack knapPI_1_100_1000 | did you mean 'knapPI_1_100_1000_1'
solve paper-alexnet | choose a target: 'paper-alexnet' has targets 5, 7, 9, 11, 13
solve paper-alexnet --target 6 | there is no target 6
solve paper-alexnet-8 | there is no target 8: 'paper-alexnet' has targets 5, 7, 9, 11, 13
solve paper-alexnet-9 --target 7 | the name says target 9, the option 7; give one of them
solve paper-alexnet --target tight | the target must be a finite number, not 'tight'
solve tiny --target nan | the target must be a finite number, not 'nan'
solve tiny --option breadth=8 | 'auto' takes no option 'breadth'; it takes none
solve tiny --method depl-paper --option lable=normal | takes no option 'lable'; did you mean 'label'?
solve tiny --method depl-paper --option label=norml | normal or expected, not 'norml'; did you mean 'normal'?
solve tiny --method depl-paper --option eta=5 --eta 6 | --option eta: is given twice; keep one
solve tiny --time-limit 0 | time_limit must be positive
solve tiny --scenarios 9 | works under the law itself and takes no scenarios
solve nowhere.json | nowhere.json: cannot be read (No such file or directory)
solve . | .: cannot be read (Is a directory)
solve wrong.json | wrong.json: $.clusters[1].capacity
instances check wrong.json | wrong.json: $.clusters[1].capacity: Expected `float` > 0.0, not -4
instances check plan.json | plan.json: $.format: this is a 'depl-plan' document; a 'depl-instance' one is
check wrong.json plan.json | wrong.json: $.clusters[1].capacity
instances show again.json | again.json: $.clusters[0].capacity: is given twice in this object; keep one
solve binary.json | binary.json: not UTF-8 text
solve list.jsonl | list.jsonl: $: Expected `object`
solve family.json | family.json: $.version
check tiny huge.json | huge.json: $.epochs[0].model: 'huge' is not defined; known are
explain tiny back.json | $.epochs[1].model: the switch from 'pruned' to 'full' is forbidden
solve tiny --method never --out items.txt/plan.json | there is no folder
demo --out items.txt | cannot be made
instances make --out items.txt/deeper | cannot be made
report instance.json plan.json --out no/page.html | there is no folder
report tiny plan.json --certificate state.json | state.json: $.target: is not what 'depl certify
report tiny tied.json | tied.json: $.instance: the plan was made for another instance
instances show nobody | no shipped instance and no file is called 'nobody'
solve tiny --out . | .: is a folder
fit runs.csv --template setup.json --out no/a.json | there is no folder 'no'
front tiny --against loss --between 5 4 | --between: the first, 5, must not exceed
front tiny --against loss --method scenario-search | counts scenarios
front tiny --against loss --out /nowhere/else.json | there is no folder
fit runs.csv --template none --out a.json | no shipped setup and no file is called 'none'; known are
fit runs.csv --template digits-alexnets --out a.json | did you mean 'digits-alexnet'
fit runs.csv --template setup.json --out a.json --target nan | --target: must be a finite number
fit runs.csv --template setup.json --out a.json --metric error_rate | --metric: the traces hold no error_rate
fit lost.csv --template setup.json --out a.json | depl fit --diverged N
fit ledger.csv --template setup.json --out a.json | .provenance.lost runs: must be names and reasons
fit a.csv --first 0 --template setup.json --out a.json | --first: says how to read logs: name their loss
diagnose runs.csv --first 1 | --first: says how to read logs: name their loss, too, by --loss KEY
diagnose none | there are no traces of 'none'; known are cells-perceptron
diagnose digits-alexnet-slow-fiting | did you mean 'digits-alexnet-slow-fitting'
diagnose a.csv b.csv | name their loss by --loss KEY
diagnose two.csv | two.csv: dependence shows between runs of one schedule; 2 of them are too few
diagnose runs.csv --figure pictures/good --resamples 9 | there is no folder 'pictures'
certify digits-alexnet --target 1.5 --omega 0.9 | --plan: say what the runs were to train (--plan)
train --family none --out x.csv | there is no family 'none'; known are digits-alexnet
train --family zen-attention --out x.csv | zen-attention is no longer trained
train --family points --out none/x.csv | make it first
train --family points --out runs.csv | its family is 'nothing'
train --family points --out x.csv --plan cloud.json | there is no cluster 'cloud'
train --family points --out x.csv --plan plan.json | plan.json: $.epochs[0].model: 'full' cannot be trained
train --family points --out x.csv --stages a@b,c@d | --stages: needs --switch-epochs
train --family points --out x.csv --stages a@b,c@d --switch-epochs 2 | --stages: needs --epochs
train --family points --out x.csv --epochs 6 | --epochs: goes with --stages
train --stages a@b,c@d --switch-epochs 2 --epochs 6 --plan p --family points --out x.csv | and --plan both say
{branches} full@edge,pruned-75@edge --switch-epochs 2 | --stages: 'full' cannot
{branches} pruned-50@edge,pruned-75@far-edge --switch-epochs 2,6 | --switch-epochs: 6 leaves one of
{branches} pruned-50@edge,pruned-75@far-edge --switch-epochs 3,2 | --switch-epochs: 2 follows on 3; give each
{branches} pruned-50@edge,pruned-75@far-edge --switch-epochs 2,2 | 2 follows on 2; give each epoch once, in
{branches} pruned-50@edge,pruned-50@edge --switch-epochs 2 | --stages: are the same twice
figures --paper 7 --methods nobody --out . | nobody
figures --paper 2 a.npz b.npz --out . | one file of traces
instances make --models 3 --out new | --models: sizes are those of heterogeneous and regions instances
instances new --out instance.json | exists already
instances new --from runs.csv | --from: is for a setup: say --setup, too
start nowhere | nowhere: cannot be read (No such file or directory)
start runs.csv --first 1 | --capacity far=N
start runs.csv --loss loss --first 1 --price nowhere=2 | --price: there is no 'nowhere'; known are
start . --out plan | --out: lies among the logs
start runs.csv --out items.txt | items.txt: is no folder; name another one
start runs.csv --loss loss --first 1 --template none | no shipped setup and no file is called 'none'
knapsack bad-items | line 3: weight is 'x'
knapsack any --chance --via milp | proves no probability
knapsack two-sacks.csv --instance 3 | holds 2 instances; there is no number 3
lessons export 5 --only kit --to new | --only: lesson 5 has no kit
lessons export 1 --only notebook --to items.txt | is no folder; name another one
program tiny --out tiny.txt | the file must end in .lp, .mps or .nl, not '.txt'
program tiny --out tiny.lp --scenarios nowhere.npz | nowhere.npz
program tiny --out tiny.lp --time-limit 1e-9 | the optimum was not proved
check tiny plan.json --scenarios missing.npz | missing.npz: cannot be read
explain tiny --figure drawn.png | --figure: draws a plan
replan spent.json promised.json other-model.json | other-model.json: $.model: is 'pruned', but the plan trains
replan spent.json promised.json low-state.json | low-state.json: $.loss
replan spent.json promised.json promised.json | promised.json: $.format
replan spent.json promised.json state.json --eta 50 | takes no option 'eta'
policy solve two.json --data site=other | cluster 'site' cannot use ['other']
policy solve two.json --failure-cost 0.5 | is cheaper than the least expected cost of a success
policy solve two.json --out two.json | is read
policy show bad-policy.json | bad-policy.json: $.epochs: there is no such field; did you mean
policy decide plan.json --log run.jsonl | depl policy decide PLAN --instance INSTANCE --log RUN.jsonl
policy decide policy.json --instance tiny --log run.jsonl | policy.json: $.format: this is a 'depl-policy'
policy decide tied.json --instance tiny --log run.jsonl | the plan was made for another instance
policy decide policy.json --log late.jsonl | late.jsonl: line 1: begins with epoch 1; the loss before
policy decide policy.json --log twice.jsonl | twice.jsonl: line 2: epoch 0 stands on line 1 already
policy decide policy.json --log gap.jsonl | gap.jsonl: line 2: is of epoch 2, and should be of epoch 1
policy decide policy.json --log ended.jsonl | ended.jsonl: line 2: the run stopped after epoch 0 (abandoned)
policy decide policy.json --log text.jsonl | text.jsonl: line 1: a loss is a number, not '1'
policy decide policy.json --log large.jsonl | line 2: the epoch trained model 'large', and the policy had
policy decide policy.json --log list.jsonl | list.jsonl: line 1 is no JSON object
policy decide policy.json --log mine.py | mine.py: holds no loss yet
bench run paper exact-law | 'paper' sweeps, 'exact-law' measures; run them apart
bench run exact-law --limit 1 | --limit: is an option of studies that sweep
bench run none | no study is called 'none'; known are ablation,
bench run paper --methods none --out x.jsonl | --methods: no configuration
bench run paper --methods none --out x.jsonl | is called 'none'; known are annealing, density-greedy, depl,
bench run paper --instances none-* --out x.jsonl | --instances: no instance of paper is called like 'none-*'
bench run paper --import depl.none --out x.jsonl | depl.none: cannot be imported: ModuleNotFoundError
bench run paper --workers 2 --scheduler tcp://there:1 | not allowed with
bench list --import ends.py | ends.py: cannot be imported: it ends the program
bench run paper --import ends.py --out new.jsonl | ends.py: cannot be imported: it ends the program
bench compare crashed.jsonl --import ends.py | ends.py: cannot be imported: it ends the program
solve tiny --import ends.py | ends.py: cannot be imported: it ends the program
bench resume none.jsonl | none.jsonl: there is no such file
bench resume crashed.jsonl | crashed.jsonl: does not say what it was made for
bench compare none | none: no such file, and no recorded study of that name; known are
bench compare paper --only none/* | holds no answer like 'none/*' that can be asked again
bench compare --update | --update: replaces answers of one FILE
bench compare crashed.jsonl | others ended by the clock
bench draw exact-law figures | the study 'exact-law' has no figure; those that have one:
bench report --out no/such/folder/page.html | no folder
bench report bad-items --out runs.csv | bad-items
solve instance.json --method never --out instance.json | instance.json: is
report instance.json plan.json --out plan.json | plan.json: is
replan instance.json plan.json state.json --method never --out plan.json | plan.json: is
replan instance.json plan.json state.json --method never --rest state.json | state.json: is
replan instance.json plan.json state.json --method never --out a.json --rest a.json | a.json: is
front instance.json --against loss --out instance.json | instance.json: is
front instance.json --against loss --figure picture --out picture.svg | picture.svg: is
front front.svg --against loss --figure front | front.svg: is
check tiny front.svg --figure front | front.svg: is
explain tiny front.svg --figure front | front.svg: is
replan tiny front.svg state.json --figure front | front.svg: is
diagnose d-loss.png --figure d | d-loss.png: is
diagnose d-fits.svg --figure d | d-fits.svg: is
knapsack items.txt --out items.txt | items.txt: is
fit runs.csv --template setup.json --out setup.json | setup.json: is
fit runs.csv --template setup.json --out runs.csv | runs.csv: is
traces import runs.csv --loss loss --stages net@site --out runs.csv | runs.csv: is
train --family points --plan plan.json --out plan.json | plan.json: is
bench run paper --import mine.py --out mine.py | mine.py: is
bench report runs.csv --out runs.csv | runs.csv: is
solve instance.json --method never --out linked.json | linked.json: is the file instance.json, which is read;
solve hard.json --method never --out instance.json | instance.json: is the file hard.json, which is read; name
""".format(branches="train --family points --out x.csv --epochs 6 --stages")
"""A command line, and what the command says of it before it works or writes."""


@pytest.fixture(scope="module")
def bad(documents, tmp_path_factory):
    """The documents, and others that are wrong, each by one thing."""
    folder = tmp_path_factory.mktemp("bad")
    shutil.copytree(documents, folder, dirs_exist_ok=True)
    zero = '{"epoch": 0, "loss": 1}\n'
    state = json.loads((documents / "state.json").read_text(encoding="utf-8"))
    instance = (documents / "instance.json").read_text(encoding="utf-8")
    runs = (documents / "runs.csv").read_text(encoding="utf-8").rstrip("\n").rpartition(",")
    sack = "{0}\nn 1\nc 1\nz 9\ntime 0.00\n1,1,1,0\n-----\n\n"
    on_edge = partial(plan, data=("sensors",))
    texts = {
        "wrong.json": json.dumps(put(RICH, "clusters[1].capacity", -4)),
        "again.json": json.dumps(RICH).replace('"capacity":', '"capacity": 1, "capacity":', 1),
        "huge.json": on_edge(("huge", "edge", 4.0)).to_json(),
        "back.json": on_edge(("pruned", "edge", 4.0), ("full", "edge", 4.0)).to_json(),
        "lost.csv": f"{runs[0].rpartition(',')[0]},nan,{runs[2]}\n",
        "ends.py": "import sys; sys.exit(3)",  # which would read as proved infeasible
        "bad-items": "2 5\n1 1\n1 x\n",
        "two-sacks.csv": sack.format("first") + sack.format("second"),
        "cloud.json": plan(("pruned-50", "cloud")).to_json(),
        "tied.json": plan(instance="0" * 64).to_json(),
        "other-model.json": json.dumps(state | {"model": "pruned"}),
        "low-state.json": json.dumps(state | {"loss": "low"}),
        "bad-policy.json": json.dumps({**document(), "epochs": 3}),
        "run.jsonl": zero,
        "late.jsonl": '{"epoch": 1, "loss": 1}\n',
        "twice.jsonl": zero + zero,
        "gap.jsonl": zero + '{"epoch": 2, "loss": 1}\n',
        "ended.jsonl": '{"epoch": 0, "loss": 9}\n{"epoch": 1, "loss": 1}\n',
        "text.jsonl": '{"epoch": 0, "loss": "1"}\n',
        "large.jsonl": zero + '{"epoch": 1, "loss": 0.8, "model": "large"}\n',
        "list.jsonl": "[]\n",
        "family.json": '{"format": "depl-family", "version": 2}',
        "front.svg": instance,
        **dict.fromkeys(("d-loss.png", "d-fits.svg"), "".join(runs)),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "binary.json").write_bytes(b"\xff\xfe\x00{")
    alike = read_traces(folder / "runs.csv").select(np.arange(20))
    write_traces(folder / "two.csv", alike.select(np.array([0, 1])))
    planned = (("full", "edge"),) * 2 + (("cut", "far"),) * 5
    write_traces(folder / "fresh.csv", alike.with_provenance({PLAN: plan_text(planned)}))
    write_traces(folder / "ledger.csv", alike.with_provenance({"lost runs": "b, c"}))
    write_store(folder / "crashed.jsonl", blanks(2))
    (folder / "linked.json").symlink_to(folder / "instance.json")
    (folder / "hard.json").hardlink_to(folder / "instance.json")
    return folder


def never(instance, limits):
    """A method that must not be reached."""
    raise AssertionError("solved although the command line is wrong")


@pytest.fixture
def inside(bad, own_methods, monkeypatch):
    register("never", never)
    monkeypatch.setitem(families.FAMILIES, "points", small_family())
    monkeypatch.chdir(bad)
    return bad


def contents(folder):
    """Every file with its size and time; importing one may leave a folder with its bytecode."""
    found = {path.name: path.stat() for path in folder.iterdir() if path.name != "__pycache__"}
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in found.items()}


def with_json(words):
    """The same asking for JSON, where the command has that option."""
    for count in (1, 2):
        leaf = LEAVES.get(" ".join(words[:count]))
        if leaf is not None and "--json" in options_of(leaf):
            return [*words[:count], "--json", *words[count:]]
    return None


@pytest.mark.parametrize("row", [*USAGE.strip().splitlines(), *INPUTS.strip().splitlines()])
def test_what_is_wrong_is_refused_in_words_and_as_one_object_and_nothing_is_written(ask, inside, row):
    line, said = row.split(" | ")
    words, before = shlex.split(line, posix=";" not in line), contents(inside)
    code, out, err = ask(*words)
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())
    assert err.startswith(f"depl: {said}" if said.endswith(": is") else "depl")
    assert err.splitlines()[-1].startswith("Help and examples: depl") == (row in USAGE)
    assert "Traceback" not in err
    if (asked := with_json(words)) is not None:
        code, out, _ = ask(*asked)
        told = json.loads(out)
        assert (code, told["termination"], told["solution"]) == (2, "error", "none")
        assert " ".join(told["reason"].split()) in " ".join(err.split())
        assert told.keys() - {"mistakes"} == json.loads(JSON).keys()
    assert contents(inside) == before
