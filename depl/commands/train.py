"""``depl train``: train small networks and record their losses as traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from depl.commands import options as given
from depl.commands.answer import Answer, code_of
from depl.commands.options import COUNT, SEED, Options, option
from depl.commands.printable import as_json
from depl.instances.training.names import SHIPPED
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted

if TYPE_CHECKING:
    from depl.instances.training.recording import Switching
    from depl.models.traces.table import Traces

FAMILIES = given.shipped("depl.instances.training.names", "SHIPPED")
_SWITCHING = ("switch_epochs", "epochs", "draw_switch")
"""Options that go with ``--stages``; the last one may be left out."""
_PLACES = {"switch_epochs": "switch_epochs", **dict.fromkeys(("stages", "model", "schedule"), "stages")}
_OF_A_PLAN = {"schedule": "plan"}
"""Options by what errors of training know as their place."""


def _stages(text: str) -> tuple[tuple[str, str], ...]:
    parts = tuple(tuple(part.strip() for part in stage.split("@")) for stage in text.split(","))
    if len(parts) != 2 or any(len(part) != 2 or not all(part) for part in parts):
        example = "pruned-50@edge,pruned-75@far-edge"
        raise click.BadParameter(
            f"must be two stages MODEL@CLUSTER with a comma between them, such as {example}, not {text!r}"
        )
    return tuple((model, cluster) for model, cluster in parts)


def _epochs(text: str) -> tuple[int, ...]:
    return tuple(int(COUNT(part) or 0) for part in text.split(","))


@given.command("""\
depl train --family digits-alexnet --runs 10 --out runs.csv
depl train --family digits-alexnet --plan plan.json --out fresh.csv   # a plan of 'depl solve --out plan.json'
depl train --family cells-perceptron --stages pruned-50@edge,pruned-75@edge --switch-epochs 4,6 --epochs 9 \
--out b.csv
""")
@option("--family NAME", f"what to train: {', '.join(SHIPPED)}", required=True, shell_complete=FAMILIES)
@option("--runs N", "how many runs", COUNT, default=100)
@option(
    "--seed S", "of the first run; default: 0, and with --plan or --stages a number derived from them", SEED
)
@option(
    "--plan PLAN",
    "train what this plan does epoch by epoch; each cluster on all of its own data",
)
@option(
    "--stages MODEL@CLUSTER,MODEL@CLUSTER",
    "train the first stage for each seed, and from each of --switch-epochs on the second, as SEED/SWITCH",
    _stages,
)
@option("--switch-epochs K,K,...", "for --stages: last epochs of the first stage, ascending", _epochs)
@option("--epochs K", "for --stages: epochs of every run", COUNT)
@option(
    "--draw-switch S",
    "for --stages: train one of the switch epochs for each seed, drawn with seed S; default: all",
    SEED,
)
@option(
    "--out FILE",
    "the file of traces, .csv or .csv.gz; runs that it holds already are not trained again",
    given.to_write,
    required=True,
)
@given.as_json("what was done")
def train(options: Options) -> Answer:
    """Train small networks and record their losses as traces; a file that is there is gone on with."""
    from depl.commands.progress import bar
    from depl.instances.training.families import family
    from depl.instances.training.recording import fresh_seed, record, record_branches, schedule_of
    from depl.showing.parts import Listing

    chosen, switching = family(options.family), _switching(options)
    plan = None if options.plan is None else given.read_plan(options.plan)
    with given.inside(options.plan or ""):
        schedule = None if plan is None else schedule_of(plan)
    first = options.seed
    if first is None:
        first = switching.first_seed() if switching else 0 if plan is None else fresh_seed(plan)
    seeds = range(first, first + options.runs)
    with bar("training", len(seeds)) as step, given.inside("", _OF_A_PLAN if plan else _PLACES):
        asked = seeds, options.out, _provenance(options, first), lambda name: step(f"seed {name}")
        if switching is None:
            done = record(chosen, *asked, schedule)
        else:
            done = record_branches(chosen, switching, *asked)
    content = {
        "family": chosen.name,
        "summary": chosen.summary,
        "seeds": [seeds.start, seeds.stop - 1],
        "trained": done.trained,
        "kept": done.kept,
        "interrupted": done.interrupted,
        "out": options.out,
        **({"runs": 0} if done.traces is None else _figures(done.traces)),
    }
    told = content | {"seeds": f"{seeds.start} to {seeds.stop - 1}"}
    pairs = [(name.replace("_", " "), told[name]) for name in list(told)[2:] if name != "interrupted"]
    ends = f"written to {options.out}"
    if done.interrupted:
        ends = f"stopped before the rest. The same command goes on with {options.out}"
    aside = f"{counted(done.trained, 'run')} trained, {done.kept} there already; {ends}"
    code = code_of("interrupted" if done.interrupted else "optimal", done.traces is not None)
    return Answer(Listing((), [(chosen.name, chosen.summary), *pairs]).text(), code, as_json(content), aside)


def _switching(options: Options) -> Switching | None:
    """What ``--stages`` and the options that go with it ask for."""
    from depl.instances.training.recording import Switching
    from depl.instances.training.runs import Epoch, pruning_factor

    told = [name for name in _SWITCHING if getattr(options, name) is not None]
    if options.stages is None:
        if told:
            raise InvalidInputError("goes with --stages; give both or none", _option(told[0]))
        return None
    if options.plan is not None:
        raise InvalidInputError("and --plan both say what to train; give one of them", "--stages")
    for name in _SWITCHING[:2]:
        if name not in told:
            raise InvalidInputError(f"needs {_option(name)}", "--stages")
    with given.inside("", _PLACES):
        first, second = (Epoch(pruning_factor(model), cluster) for model, cluster in options.stages)
        return Switching(first, second, options.switch_epochs, options.epochs, options.draw_switch)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _provenance(options: Options, first: int) -> dict[str, str]:
    from depl.benchmarks.measure.provenance import here

    words = [f"depl train --family {options.family} --runs {options.runs} --seed {first}"]
    words += [] if options.plan is None else ["--plan PLAN"]
    if options.stages is not None:
        words.append(f"--stages {','.join('@'.join(stage) for stage in options.stages)}")
        words.append(f"--switch-epochs {','.join(map(str, options.switch_epochs))} --epochs {options.epochs}")
        words += [] if options.draw_switch is None else [f"--draw-switch {options.draw_switch}"]
    commit = here().commit
    told = {} if commit is None else {"commit": commit.id + (" and changes" if commit.dirty else "")}
    return {"command": " ".join(words), **told}


def _figures(traces: Traces) -> dict[str, Any]:
    import numpy as np

    last = traces.bounds[1:] - 1
    loss, rate = traces.loss[last], traces.target("error_rate")[last]
    return {
        "runs": len(traces.runs),
        "epochs": int(traces.last_epochs.max()),
        "median_final_loss": float(np.median(loss)),
        "largest_final_loss": float(loss.max()),
        "median_final_error_rate": float(np.median(rate)),
    }
