#!/bin/sh
# Every document that depl writes, or reads from a user, into the folder in which it is called. See README.md.
set -eu

depl instances new --out instance.json                 # commented, as a user begins it
depl instances new --setup --out template.json
sed 's/"maximum_loss": [0-9.]*/"maximum_loss": 0.8/; s/"quantile_level": [0-9.]*/"quantile_level": 0.8/' template.json > setup.json
rm template.json

python - <<'PYTHON'
from pathlib import Path

import numpy as np

import depl
from depl.models.scenarios.draws import draw_scenarios
from depl.models.scenarios.files import save_scenarios
from depl.models.traces.files import write_traces
from depl.models.traces.table import Traces


def runs(prefix: str, count: int, seed: int) -> Traces:
    """Four epochs of full@edge, then four of pruned@cloud, from a loss of 3 on."""
    rng = np.random.default_rng(seed)
    losses = np.round(3 * np.cumprod(np.column_stack([np.ones(count), rng.normal(0.8, 0.02, (count, 8))]), 1), 4)
    return Traces(
        np.repeat([f"{prefix}{number}" for number in range(count)], 9),
        np.tile(np.arange(9), count),
        np.tile(np.array(["full"] * 5 + ["pruned"] * 4), count),
        np.tile(np.array(["edge"] * 5 + ["cloud"] * 4), count),
        losses.ravel(),
    )


write_traces("runs.csv", runs("pilot-", 10, 1))
write_traces("runs.npz", runs("pilot-", 10, 1))
write_traces("fresh.csv", runs("fresh-", 16, 2))
text = depl.load("tiny").to_json().replace('"archive"', '"old archive"')  # a name that no solver's file has
Path("tiny.json").write_text(text, encoding="utf-8")
save_scenarios(draw_scenarios(depl.Instance.from_json(text), 5, 1), "scenarios.npz")
PYTHON

depl fit runs.csv --template setup.json --care 0 --out fitted.json
depl solve tiny.json --method exact --out plan.json
depl solve fitted.json --method enumerate --out fitted-plan.json
depl solve tiny.json --method scenario-search --scenarios 20 --seed 1 --out sampled-plan.json
depl certify fresh.csv --target 0.8 --omega 0.8 --plan fitted-plan.json --chosen-by fitted.json --json > certificate.json
depl front tiny.json --against loss --between 6 9 --points 2 --out front.json
echo '{"format": "depl-state", "version": 1, "epoch": 1, "loss": 10.5, "elapsed_time": 1.5, "model": "full"}' > state.json

depl policy solve paper-alexnet-9 --gap 5% --out policy.json
depl policy solve fitted.json --switch-epochs 4 --out counted-policy.json
python - <<'PYTHON'
import depl

controller = depl.Controller("policy.json", log="controller.jsonl")
controller.start(13.0)
controller.observe(11.5)
PYTHON
echo '{"epoch": 0, "loss": 13}' > losses.jsonl
echo '{"epoch": 1, "loss": 11.5}' >> losses.jsonl

depl program tiny.json --scenarios 2 --seed 1 --out program.lp
depl program tiny.json --scenarios 2 --seed 1 --out program.mps

depl bench run paper --methods exact,expected-cost --instances paper-alexnet-9 --out attempts.sqlite
depl bench export attempts.sqlite --out .
mv paper.jsonl.gz attempts.jsonl.gz
depl bench behaviour record behaviour.json --problems tiny --settings exact
