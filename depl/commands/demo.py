"""``depl demo``: methods side by side on the paper's instances, as tables with ratios, and as figures."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import depl
from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.printable import table
from depl.models.foundation.wording import counter_probability, number, rounded_down, rounded_up

if TYPE_CHECKING:
    from depl.benchmarks.figures.comparison import Entry

FAMILIES = ("paper-alexnet", "paper-alexnet-deadline")
METHODS = ("auto", "depl", "depl-paper", "expected-cost", "expected-greedy")
SECOND_METHOD = "enumerate"
"""Proves every optimum again, by a method that shares no search with the default."""
_EXPECTED = "expected-greedy"
_WRAPPED = textwrap.TextWrapper(110, break_long_words=False, break_on_hyphens=False)


@given.command("""\
depl demo                                    # into the folder demo
depl demo --out figures
""")
@given.option("--out DIR", "folder for the figures, beside each other as PNG and SVG", default="demo")
def demo(options: given.Options) -> Answer:
    """Compare methods on the paper's AlexNet instances, draw figures."""
    # Drawing is all that needs matplotlib, and no other command should wait for it.
    from depl.benchmarks.figures.comparison import SAMPLED_METHODS, compare, solve_by_all, targets_of
    from depl.benchmarks.figures.family import Gallery
    from depl.commands.progress import bar

    started = time.perf_counter()
    folder = given.make_folder(options.out)
    methods = [*METHODS, SECOND_METHOD]
    total = len(methods) * sum(len(targets_of(family)) for family in FAMILIES)
    total += len(SAMPLED_METHODS)
    texts, files = [], []
    with bar("solving", total) as step:
        for family in FAMILIES:
            entries = compare(family, methods, done=lambda entry: step(entry.instance.name))
            shown = [entry for entry in entries if entry.method != SECOND_METHOD]
            texts.append(f"{family}\n{comparison_table(shown)}\n{agreement(entries)}")
            files += Gallery(family, shown, against=_EXPECTED).write(folder)
        texts.append(_ground_truth(solve_by_all(done=lambda entry: step(entry.method))))
    names = [f"  {path}" for path in files if path.suffix == ".png"]
    texts.append("\n".join([_LEGEND, "", "Figures, each also as SVG:", *names]))
    texts.append(f"{time.perf_counter() - started:.0f} seconds in all")
    return Answer("\n\n".join(texts))


def comparison_table(entries: Sequence[Entry]) -> str:
    """A row for every target and method, what the column of epochs means, and why there is no plan."""
    instance, right = entries[0].instance, ("target", "cost", "cost / optimum", "optimum >=", "seconds")
    header = ("target", "method", *right[1:4], "epochs per model", "P(loss <= target)", "seconds")
    missing = []
    for entry in [entry for entry in entries if entry.plan is None]:
        found = entry.result
        reason = entry.refusal if found is None else found.reason or found.termination.value
        missing.append(_WRAPPED.fill(f"no plan of {entry.method} at {entry.target}: {reason}"))
    models, asked = " / ".join(model.name for model in instance.models), instance.target.quantile_level
    meaning = f"epochs per model: {models}; asked probability omega: {asked}"
    rows = [_row(entry, entries) for entry in entries]
    return "\n".join([table(header, rows, right=right), meaning, *missing])


def agreement(entries: Sequence[Entry]) -> str:
    """Whether the second method proves the same optima as the methods of the table."""
    from depl.benchmarks.figures.comparison import AGREEMENT, agree

    shown = [entry for entry in entries if entry.method != SECOND_METHOD]
    second = [entry for entry in entries if entry.method == SECOND_METHOD]
    if agree(shown, second):
        return f"{SECOND_METHOD} agrees: it proves the same optimum at every target (to {AGREEMENT:g})"
    return f"{SECOND_METHOD} does NOT agree: the optima are not all proved twice, or differ"


_LEGEND = """\
"cost / optimum": over the least cost if that is proved, otherwise at most that over the best lower bound.
"optimum >=": the lower bound of the least cost that the method itself has proved. Probabilities are certified
lower bounds, under the laws of the instance, of the probability that the final loss meets the target."""


def _ground_truth(entries: Sequence[Entry]) -> str:
    """The exact methods on one sample of scenarios, and what the law says of their plan."""
    from depl.benchmarks.figures.comparison import AGREEMENT, SCENARIOS, methods_agree

    header = ("method", "cost", "", "epochs per model", "scenarios missed", "P(loss <= target)", "seconds")
    rows = []
    for entry in entries:
        _, method, cost, standing, _, epochs, *rest = _row(entry, entries)
        seen = None if entry.result is None else entry.result.scenarios
        missed = "" if seen is None else f"{seen.misses} of {seen.size}, {seen.allowed} allowed"
        rows.append((method, cost, standing, epochs, missed, *rest))
    agreed = "All methods agree" if methods_agree(entries) else "The methods do NOT all agree"
    return (
        f"Ground truth: {entries[0].instance.name}, target 15, {SCENARIOS} scenarios in place of the law\n"
        f"{table(header, rows, right=('cost', 'seconds'))}\n"
        f"{agreed} (proved cheapest on these scenarios, costs equal to {AGREEMENT:g}). Asked of the law is "
        f"{entries[0].instance.target.quantile_level}:\nwhat is optimal on a sample may promise too much, so "
        "its certified probability stands beside it."
    )


def _row(entry: Entry, entries: Sequence[Entry]) -> tuple[str, ...]:
    result = entry.result
    seconds = "" if result is None else f"{result.wall_seconds:.2f}"
    if result is None or result.plan is None or result.cost is None:
        return (entry.target, entry.method, "no plan", "", _bound(result), "", "", seconds)
    epochs = " / ".join(map(str, entry.epochs_by_model.values()))
    reached = "" if result.violation is None else f">= {counter_probability(result.violation.highest, 6)}"
    cost, ratio = number(result.cost, 5), _ratio(entry, entries)
    return (entry.target, entry.method, cost, ratio, _bound(result), epochs, reached, seconds)


def _bound(result: depl.Result | None) -> str:
    if result is None or not result.lower_bound > 0:
        return ""
    proved = result.solution is depl.Solution.PROVEN_OPTIMAL
    return (number if proved else rounded_down)(result.lower_bound, 5)


def _ratio(entry: Entry, entries: Sequence[Entry]) -> str:
    """The cost over the optimum; where no method has proved one, at most what it is over the best bound."""
    from depl.benchmarks.figures.comparison import lower_bound, optimum

    if entry.result is not None and entry.result.solution is depl.Solution.PROVEN_OPTIMAL:
        return "proved optimum"
    least, bound = optimum(entries, entry.target), lower_bound(entries, entry.target)
    if entry.cost is not None and least:
        return f"{entry.cost / least:.3f}"
    if entry.cost is None or bound <= 0:
        return "no bound known"
    return f"<= {rounded_up(entry.cost / bound, 4)}"
