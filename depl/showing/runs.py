"""Runs for people: what was read from logs, and what an instance that was fitted to runs is worth."""

import math
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from depl.models.estimation.choices import CARE, plans_needed
from depl.models.evaluation.traced_counting import runs_to_carry
from depl.models.evaluation.traced_loss import only_whole_runs
from depl.models.foundation.wording import counted, number, probability
from depl.models.problem.instance import Instance
from depl.models.problem.traced_law import TracedLaw
from depl.models.tool_logs.importing import Imported
from depl.models.tool_logs.stages import told
from depl.models.traces.log_rules import What
from depl.models.traces.lost import AT_RANDOM, LEFT_OUT, ledger, listed
from depl.models.traces.same_runs import ToldApart
from depl.models.traces.stages import StageRuns, stage_runs
from depl.showing.diagnoses import stage_listing
from depl.showing.parts import Listing, Pairs, Section

_MOST_STAGES = 8
"""Schedules that are listed at most: set by hand, so that the answer stays on a screen."""

_NOTES = {
    What.SHORTER: "end before the longest",
    What.STOPPED: "without a loss from some epoch on, ended before it",
    What.DIVERGED: "with a loss that is not finite, ended before it",
    What.DROPPED: "dropped, as a loss is missing",
    What.REPEATED: "of epochs that were logged again, not counted",
    What.SECOND: "begun again at the first epoch, each of which is a run of its own",
    What.PASSED_OVER: "without a loss where another line has it",
}


def imported_content(found: Imported, **of: Any) -> dict[str, Any]:
    """What was made of the logs; ``of`` says of which."""
    traces, log, ends = found.traces, found.log, found.traces.last_epochs
    return {
        **of,
        "tool": log.tool,
        "recognised_by": log.why or None,
        "runs": len(traces.runs),
        "epochs": [int(traces.epoch.min()), int(traces.epoch.max())],
        "shortest": int(ends.min()),
        "evaluated_before_training": int((traces.epoch == 0).sum()),
        "decided": dict(found.facts),
        "schedules": [{"stages": stages, "runs": runs} for stages, runs in _schedules(found)],
        "notes": {what.value: count for what, count in _noted(found).items()},
        "diverged": list(found.diverged),
        "dropped": list(found.dropped),
        "lost": traces.lost,
        "left_out": ledger(traces.provenance, LEFT_OUT),
        "unread": dict(log.unread),
        "same_runs": {item.run: item.other for item in found.repeats},
    }


def _schedules(found: Imported) -> list[tuple[str, int]]:
    return [(told(schedule), len(runs)) for schedule, runs in found.traces.by_schedule().items()]


def _noted(found: Imported) -> Counter[What]:
    """Notes by kind, and runs that are shorter than the longest, which only all runs together tell."""
    counts = Counter(note.what for note in found.notes)
    ends = found.traces.last_epochs
    counts[What.SHORTER] = int(np.count_nonzero(ends < ends.max()))
    return +counts


def imported_sections(found: Imported, out: str | None = None) -> list[Section]:
    """What was read and how; schedules; and where the traces are kept, the commands that lead on."""
    ordered = sorted(_schedules(found), key=lambda row: -row[1])
    rows = ordered[:_MOST_STAGES]
    if len(ordered) > _MOST_STAGES:
        rest = sum(runs for _, runs in ordered[_MOST_STAGES:])
        rows.append((f"{len(ordered) - _MOST_STAGES} others", rest))
    title = f"What was trained, in {counted(len(found.traces.runs), 'run')}:"
    return [
        Section("", Pairs(list(_read(found)))),
        Section(title, Listing.rounded(rows, ("stages", "runs"), ("stages",))),
        Section("", "" if out is None else _after_import(shlex.quote(out))),
    ]


def _read(found: Imported) -> Iterator[tuple[str, str]]:
    traces, log = found.traces, found.log
    by = f", recognised by {log.why}" if log.why else ""
    yield "logs", f"{counted(len(traces.runs), 'run')} of {log.tool}{by}"
    begins = int(traces.epoch.min())
    ends = traces.loss[traces.bounds[:-1]], traces.loss[traces.bounds[1:] - 1]
    first, last = (number(float(np.median(losses))) for losses in ends)
    yield "loss", f"{found.facts[0][1]}: median {first} after epoch {begins}, {last} at the end"
    yield "epochs", f"{begins} to {traces.epoch.max()}"
    yield from found.facts[1:]
    if without := len(traces.runs) - int((traces.epoch == 0).sum()):
        which = "no run was" if without == len(traces.runs) else f"{counted(without, 'run')} not"
        seen = "the law of l(1) is then as it was seen, and policies decide from epoch 1 on"
        yield "before training", f"{which} evaluated: {seen}"
    for what, count in _noted(found).items():
        yield str(what.value), f"{count} {_NOTES[what]}"
    schedules = len(traces.by_schedule())
    if schedules < plans_needed(CARE):
        few = f"{counted(schedules, 'schedule')}, too few for the margin of plans that were never run"
        way = "fit --care 0 leaves it out, for promises that fresh runs are to certify"
        yield "policies", f"{few}, which takes {plans_needed(CARE)}; {way}"
    if traces.lost:
        yield "lost", f"{len(traces.lost)}, which fit and certify count as misses: {listed(traces.lost)}"


def _after_import(runs: str) -> str:
    """The commands that lead on, from runs before a plan and from fresh ones, which fit would spend."""
    return (
        f"What comes next:\n  depl diagnose {runs}\n"
        "  depl instances new --setup --out setup.json   # and write into it what runs do not say\n"
        f"  depl fit {runs} --template setup.json --out mine.json\n"
        "Fresh runs of a plan are not fitted, which would spend them; they judge it:\n"
        f"  depl certify {runs} --target L --omega P --plan plan.json --chosen-by mine.json"
    )


class Fitted(NamedTuple):
    """An instance with the runs that it was fitted to.

    Attributes
    ----------
    usable : bool or None
        Whether the paper's laws may be used; None where the runs cannot tell.
    reason : str
        Why not.
    traces, metric : str
        How a command names them.
    left_out : int
        Runs that the setup has no place for.
    """

    instance: Instance
    apart: ToldApart
    usable: bool | None
    reason: str
    traces: str
    metric: str
    left_out: int

    @property
    def stages(self) -> tuple[StageRuns, ...]:
        """Those inside the support of the runs; none of the paper's laws has one."""
        traced = self.instance.traced_law
        return () if traced is None else stage_runs(self.apart.traces, self.apart.origins)


def fitted_content(found: Fitted, out: str = "", law: str = "") -> dict[str, Any]:
    """What was fitted, by which law, and into which file."""
    instance, traces, traced = found.instance, found.apart.traces, found.instance.traced_law

    def of_law(name: str) -> Any:
        return None if traced is None else getattr(traced, name)

    return {
        "out": out,
        "instance": instance.name,
        "fingerprint": instance.fingerprint,
        "traces": found.traces,
        "metric": found.metric,
        "law": law,
        **{name: of_law(name) for name in ("residuals", "scale", "deviations", "confidence")},
        "never_run_refused": of_law("only_whole_runs"),
        "diverged": of_law("diverged"),
        "lost": traces.lost,
        "left_out_by_name": ledger(traces.provenance, LEFT_OUT),
        "cut_at_random": list(ledger(traces.provenance, AT_RANDOM)),
        "runs": len(traces.runs),
        "schedules": len(traces.by_schedule()),
        "same_runs": {item.run: item.other for item in found.apart.repeats},
        "dependent_runs": {item.run: item.other for item in found.apart.forks},
        "models": [model.name for model in instance.models],
        "clusters": [cluster.name for cluster in instance.clusters],
        "stages": [asdict(item) for item in found.stages],
        "independent_law_usable": found.usable,
        "reason": found.reason,
        "left_out": found.left_out,
    }


def fitted_sections(found: Fitted, following: str = "") -> list[Section]:
    """What the fit is worth, the stages that its runs support, and the commands that lead on."""
    stages = stage_listing(found.stages) if found.stages else ""
    return [
        Section("", Pairs(list(_fit(found)))),
        Section("Stages inside the support of the runs:" if stages else "", stages),
        Section("", following),
    ]


def _fit(found: Fitted) -> Iterator[tuple[str, str]]:
    instance, traces, traced = found.instance, found.apart.traces, found.instance.traced_law
    yield instance.name, f"fitted to {found.traces}"
    left_out = f"; {found.left_out} left out" if found.left_out else ""
    yield "runs", f"{len(traces.runs)}, of {counted(len(traces.by_schedule()), 'schedule')}{left_out}"
    yield from found.apart.said()
    yield "models", ", ".join(model.name for model in instance.models)
    if traced is None:
        yield "law", "independent improvements and switches, as in the paper"
    else:
        kept = "kept per run" if traced.residuals == "per_run" else "independent"
        of = "" if traced.scale == "loss" else f" of the logarithm of the {found.metric}"
        yield "law", f"affine{of}, residuals {kept}"
        if traced.residuals == "per_run":
            yield from _counted(instance, traced)
        yield "never run", _never_run(traced)
    target, start = instance.target, "l(1) on as it was seen: runs were not evaluated before training"
    if instance.rules.known_start:
        start = number(target.initial_loss)
    event = f"{probability(target.quantile_level)}-quantile of the final {found.metric}"
    yield "promise", f"{event} at most {number(target.maximum_loss)}, from {start}"
    yield "lost runs", _lost(found, 0 if traced is None else traced.diverged)
    for name, key in (("left out", LEFT_OUT), ("cut at random", AT_RANDOM)):
        if runs := ledger(traces.provenance, key):  # what was said of single runs, and is believed
            yield name, f"{len(runs)}, as told: {listed(runs)}"
    usable = {None: f"not judged: {found.reason}", True: "may be used"}
    yield "independent law", usable.get(found.usable, f"must NOT be used: {found.reason}")


def _counted(instance: Instance, traced: TracedLaw) -> Iterator[tuple[str, str]]:
    """How runs count in promises."""
    level = instance.target.quantile_level
    needed = runs_to_carry(level, traced.confidence, traced.diverged)
    lost = f"{traced.diverged} that diverged or were lost" if traced.diverged else ""
    if traced.confidence is None:
        misses = f"{lost} and one more as misses" if lost else "one more as a miss"
        yield "promises", f"marginal: right on average over sets of runs, each n of a plan with {misses}"
    else:
        misses = f", each n runs of it with {lost} as misses" if lost else ""
        yield "promises", f"with confidence {probability(traced.confidence)} for each plan{misses}"
    most = max((len(rows) for rows in traced.law.beginnings.values()), default=0)
    carry = f"{counted(needed, 'run')} of one plan {'carries' if needed == 1 else 'carry'}"
    yield "runs", f"{carry} {probability(level)}, here at most {most} went through one"


def _never_run(traced: TracedLaw) -> str:
    """What plans that were never run are kept away from the target, or why they are refused."""
    if traced.only_whole_runs:
        return f"refused: {only_whole_runs(traced)}"
    if not traced.deviations:
        return (
            "NO margin, as asked: the law flatters plans that a solver picks, and promises for them are bold"
        )
    usual, worst = (
        number(value) if traced.scale == "loss" else f"{number(100 * math.expm1(value), 3)} %"
        for value in (median(traced.deviations), max(traced.deviations))
    )
    return f"plans that too few runs went through are taken to end {usual} higher, at worst {worst}"


def _lost(found: Fitted, diverged: int) -> str:
    """How runs that diverged or were lost are counted, or that there are none."""
    if not diverged:
        return (
            "none counted: promises are for runs that do not diverge; say --diverged N if N runs did, or let "
            "depl certify count them"
        )
    lost = found.apart.traces.lost
    known = f": {listed(lost)}" if lost else ""
    each = "each counted as a miss of every plan, and in every stage of a plan never run"
    return f"{counted(diverged, 'run')}, {each}{known}"
