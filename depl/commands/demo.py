"""``depl demo``: the paper's AlexNet instances by every method, as a table and as figures."""

import argparse
import time
from collections.abc import Sequence

from depl.benchmarks.comparison import Entry, compare, lower_bound, targets_of
from depl.benchmarks.ground_truth import AGREEMENT, ROADS, SCENARIOS, roads_meet, take_roads
from depl.commands.answer import Answer
from depl.commands.options import make_folder
from depl.commands.progress import Bar
from depl.commands.table import table
from depl.models.methods import Meaning, registered
from depl.models.result import Solution
from depl.models.wording import number, rounded_down

FAMILIES = ("paper-alexnet", "paper-alexnet-deadline")
_FIRST, _EXPECTED = "enumerate", "expected-greedy"

HELP = "solve the paper's AlexNet instances, draw figures"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--out", metavar="DIR", default="demo", help="folder for the figures; default: demo, in this folder"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> Answer:
    """Solve, draw and tabulate."""
    # Drawing is all that needs matplotlib, and no other command should wait for it.
    from depl.benchmarks.gallery import Gallery

    started = time.perf_counter()
    folder = make_folder(options.out)
    methods = methods_shown()
    total = len(methods) * sum(len(targets_of(family)) for family in FAMILIES)
    total += len(ROADS)
    texts, files = [], []
    with Bar("solving", total) as bar:
        for family in FAMILIES:
            entries = compare(family, methods, done=lambda entry: bar.step(entry.instance.name))
            texts.append(f"{family}\n{comparison_table(entries)}")
            files += Gallery(family, entries, against=_EXPECTED).write(folder)
        texts.append(_ground_truth(take_roads(done=lambda entry: bar.step(entry.method))))
    names = [f"  {path}" for path in files if path.suffix == ".png"]
    texts.append("\n".join([_LEGEND, "", "Figures, each also as SVG:", *names]))
    texts.append(f"{time.perf_counter() - started:.0f} seconds in all")
    return Answer("\n\n".join(texts))


def methods_shown() -> list[str]:
    """All methods under the law, the one that enumerates first."""
    under_law = (method.name for method in registered() if method.meaning is Meaning.LAW)
    return sorted(under_law, key=lambda name: (name != _FIRST, name))


def comparison_table(entries: Sequence[Entry]) -> str:
    """A row for every target and method, and a line on what the columns mean."""
    instance = entries[0].instance
    header = ("target", "method", "cost", "over proved bound", "epochs", "P(l(K) <= target)", "seconds")
    rows = [_row(entry, entries) for entry in entries]
    return (
        f"{table(header, rows, right=('target', 'cost', 'seconds'))}\n"
        f"epochs: {' / '.join(model.name for model in instance.models)}; "
        f"asked probability: {instance.target.quantile_level}"
    )


_LEGEND = """\
"proved cheapest": no plan of the instance is cheaper, and the method has proved it. Percentages: how much
dearer a plan is than the best lower bound that was proved. Probabilities are certified lower bounds."""


def _ground_truth(entries: Sequence[Entry]) -> str:
    """The exact methods on one sample of scenarios, and what the law says of their plan."""
    header = ("method", "cost", "", "epochs", "scenarios missed", "P(l(K) <= target)", "seconds")
    rows = [(entry.method, *_row(entry, entries)[2:]) for entry in entries]
    table_rows = [(*row[:4], _missed(entry), *row[4:]) for row, entry in zip(rows, entries, strict=True)]
    agreed = "All roads meet" if roads_meet(entries) else "The roads do NOT all meet"
    return (
        f"Ground truth: {entries[0].instance.name}, target 15, {SCENARIOS} scenarios in place of the law\n"
        f"{table(header, table_rows, right=('cost', 'seconds'))}\n"
        f"{agreed} (proved cheapest on these scenarios, costs equal to {AGREEMENT:g}). Asked of the law is "
        f"{entries[0].instance.target.quantile_level}:\nwhat is optimal on a sample may promise too much, so "
        "its certified probability stands beside it."
    )


def _missed(entry: Entry) -> str:
    evidence = None if entry.result is None else entry.result.scenarios
    return "" if evidence is None else f"{evidence.misses} of {evidence.size}, {evidence.allowed} allowed"


def _row(entry: Entry, entries: Sequence[Entry]) -> tuple[str, ...]:
    result = entry.result
    if result is None or result.plan is None or result.cost is None:
        reason = entry.refusal if result is None else result.reason or result.termination.value
        return (entry.target, entry.method, "-", reason, "", "", "")
    epochs = " / ".join(map(str, entry.epochs_by_model.values()))
    reached = "" if result.violation is None else f">= {rounded_down(1 - result.violation.upper, 6)}"
    standing = _standing(entry, lower_bound(entries, entry.target))
    return (
        entry.target,
        entry.method,
        number(result.cost, 5),
        standing,
        epochs,
        reached,
        f"{result.wall_seconds:.2f}",
    )


def _standing(entry: Entry, bound: float) -> str:
    """How the cost compares with the certified lower bound, which is the optimum where that is proved."""
    if entry.result is not None and entry.result.solution is Solution.PROVEN_OPTIMAL:
        return "proved cheapest"
    if entry.cost is None or bound <= 0:
        return "no bound known"
    return f"+{100 * max(entry.cost / bound - 1, 0.0):.1f} %"
