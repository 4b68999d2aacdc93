"""Examples at the end of each command's help: lines to copy, that run one after the other in an empty folder.

Where an example needs a file, the line before it writes the file, or the comment says where it is from.
"""

from collections.abc import Mapping

EXAMPLES: Mapping[str, str] = {
    "": """\
depl instances list
depl solve paper-alexnet-9 --out plan.json
depl check paper-alexnet-9 plan.json
""",
    "demo": """\
depl demo                                    # into the folder demo
depl demo --out figures
""",
    "solve": """\
depl solve paper-alexnet-9                   # by the default method, which proves its plan here
depl solve tiny --gap 5% --time-limit 60 --explain --out plan.json
depl solve paper-alexnet-9 --method depl-paper --option eta=400 --json
""",
    "methods": """\
depl methods                                 # all, as a table
depl methods depl-paper random               # with their options
depl methods --json
""",
    "check": """\
depl solve tiny --method exact --out plan.json
depl check tiny plan.json
depl check tiny plan.json --json
""",
    "explain": """\
depl solve tiny --method exact --out plan.json
depl explain tiny plan.json
""",
    "report": """\
depl solve tiny --method exact --out plan.json
depl report tiny plan.json --no-prices       # into plan.html, at once
depl report tiny plan.json --out page.html --time-limit 2
""",
    "program": """\
depl program tiny --scenarios 50 --out tiny.lp           # its optimum, 28, for any solver
depl program tiny --relaxation --out tiny.mps
""",
    "front": """\
depl front tiny --against probability --points 5 --plans plans
depl front tiny --against loss --out front.json    # the same line again goes on where it stopped
""",
    "figures": """\
depl figures --paper 5                       # from the recorded attempts
depl figures --paper 7 --methods exact,depl-paper,expected-cost --column-width --format pdf --latex
depl figures --paper 9 --family paper-alexnet-deadline --json
""",
    "replan": """\
depl solve tiny --method exact --out plan.json
echo '{"format": "depl-state", "version": 1, "epoch": 0, "loss": 13, "elapsed_time": 0.5}' > state.json
depl replan tiny plan.json state.json --keep-promise --out rest.json
""",
    "policy": """\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
depl policy show policy.json
depl policy decide policy.json --log run.jsonl               # exit code 0 go on, 10 switch, 11 stop
""",
    "policy solve": """\
depl policy solve paper-alexnet-9 --gap 5% --explain --out policy.json
depl policy solve paper-alexnet-9 --rung static --failure-cost 30
depl policy solve digits.json --switch-epochs 4,6,8-34 --time-limit 300 --json   # an instance of 'depl fit'
""",
    "policy show": """\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
depl policy show policy.json --figure map    # into map.png and map.svg
depl policy show policy.json --details
""",
    "policy decide": """\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
echo '{"epoch": 0, "loss": 13}' > run.jsonl
depl policy decide policy.json --log run.jsonl   # or a plan: plan.json --instance paper-alexnet-9
""",
    "policy check": """\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
depl policy check paper-alexnet-9 policy.json
""",
    "policy simulate": """\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
depl policy simulate paper-alexnet-9 policy.json --runs 10000 --seed 0
""",
    "policy replay": """\
depl policy solve digits.json --switch-epochs 4-34 --out policy.json   # an instance of 'depl fit'
depl policy replay policy.json runs.csv      # runs named SEED/SWITCH: every switch of a seed
""",
    "policy schema": """\
depl policy schema
depl policy schema                           # > policy.schema.json
""",
    "instances": """\
depl instances list
depl instances show paper-alexnet-9
depl instances new --out mine.json           # with comments, to start from
""",
    "instances list": """\
depl instances list
depl solve paper-mobilenet-9                 # a family's name and one of its targets
""",
    "instances show": """\
depl instances show paper-alexnet-9
depl instances show paper-alexnet --target 9 --json
""",
    "instances make": """\
depl instances make --count 3 --seed 7 --out drawn
depl instances make --family heterogeneous --clusters 5 --epochs 20 --out drawn
""",
    "instances schema": """\
depl instances schema
depl instances schema --setup
""",
    "instances new": """\
depl instances new --out mine.json
depl solve mine.json
depl instances new --setup --out setup.json  # for depl fit
""",
    "lessons": """\
depl lessons list
depl lessons export 1 --only notebook        # into the folder lessons
""",
    "lessons list": """\
depl lessons list
depl lessons list --json
""",
    "lessons export": """\
depl lessons export 1 2 --to course --only notebook
depl lessons export 5 --to course --only slides --only handout    # needs pip install 'depl[teaching]'
""",
    "knapsack": """\
depl knapsack f4_l-d_kp_4_11
depl knapsack f3_l-d_kp_4_20 --via exact --reduction by-time
""",
    "train": """\
depl train --family digits-alexnet --runs 10 --out runs.csv
depl train --family digits-alexnet --plan plan.json --out fresh.csv   # a plan of 'depl solve --out plan.json'
depl train --family cells-perceptron --stages pruned-50@edge,pruned-75@edge --switch-epochs 4,6 --epochs 9 \
--out b.csv
""",
    "traces": """\
depl traces import lightning_logs --loss val_loss --out runs.csv           # hparams.yaml tells the stages
depl traces import mlflow.db --loss val_loss --stages "p50@edge:17,p75@far-edge" --out runs.csv
""",
    "traces import": """\
depl traces import lightning_logs --loss val_loss --out runs.csv           # hparams.yaml tells the stages
depl traces import runs --from tensorboard --loss loss/val --stages "net@edge" --out runs.csv
depl traces import chart.csv --loss val_loss --first 0 --stages "seed1*=p50@edge:17,p75@far-edge"
""",
    "diagnose": """\
depl diagnose digits-alexnet                 # shipped traces
depl diagnose digits-alexnet --by model --resamples 20 --json
""",
    "fit": """\
depl fit digits-alexnet --template digits-alexnet --out mine.json   # shipped traces, shipped setup
depl instances new --setup --out setup.json                         # a commented setup to start from
depl fit runs.csv --template setup.json --out mine.json             # traces of your own in runs.csv
""",
    "certify": """\
depl solve digits-alexnet --out plan.json
depl train --family digits-alexnet --plan plan.json --out fresh.csv
depl certify fresh.csv --target 0.35 --omega 0.95 --chosen-by digits-alexnet
""",
    "warm-up": """\
depl warm-up
depl warm-up --method exact
""",
    "completion": """\
depl completion bash                         # > ~/.local/share/bash-completion/completions/depl
depl completion zsh
depl completion fish                         # > ~/.config/fish/completions/depl.fish
""",
    "bench": """\
depl bench list
depl bench run paper --limit 1 --methods exact,depl --out few.sqlite
depl bench report                            # of the recorded attempts
""",
    "bench list": """\
depl bench list
depl bench list --json
""",
    "bench run": """\
depl bench run paper --limit 1 --methods fastest-cluster --out few.sqlite
depl bench run random scaling-models --seconds 5 --workers 2
""",
    "bench resume": """\
depl bench run paper --limit 1 --methods fastest-cluster --out few.sqlite
depl bench resume few.sqlite                 # after a crash, Ctrl-C or a power cut
""",
    "bench export": """\
depl bench export paper-eta --out exported
depl bench export digits --out exported --json
""",
    "bench recheck": """\
depl bench recheck paper --seconds 20
depl bench recheck random --json
""",
    "bench report": """\
depl bench report                            # all that is recorded
depl bench report paper-eta --no-figures --out page.html
""",
    "bench cases": """\
depl bench cases list
depl bench cases table
depl bench cases run exact-law --smoke
""",
    "bench cases list": """\
depl bench cases list
depl bench cases list --json
""",
    "bench cases run": """\
depl bench cases run exact-law --smoke       # as small as possible, nothing is written
depl bench cases run exact-law ladder --out records
""",
    "bench cases table": """\
depl bench cases table
depl bench cases table --json
""",
    "bench cases draw": """\
depl bench cases draw graph figures
depl bench cases draw promises-kept figures
""",
    "bench behaviour": """\
depl bench behaviour record before.json --problems 'tiny*'
depl bench behaviour compare before.json --problems 'tiny*'
""",
    "bench behaviour record": """\
depl bench behaviour record before.json --problems 'tiny*' --settings 'exact*'
depl bench behaviour record all.json         # takes minutes
""",
    "bench behaviour compare": """\
depl bench behaviour record before.json --problems 'tiny*' --settings 'exact*'
depl bench behaviour compare before.json     # after a change of the program
""",
}
"""By the words of the command."""


def examples(command: str) -> str:
    """The examples of a command as the end of its help; empty for a command that has none."""
    lines = EXAMPLES.get(command, "").splitlines()
    return "\n".join(["examples:", *(f"  {line}" for line in lines)]) if lines else ""
