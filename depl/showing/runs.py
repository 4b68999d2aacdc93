"""Runs for people: what logs hold, what they say of the paper's law, and what fits and promises are worth."""

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from depl.models.estimation.advice import Advice, Option
from depl.models.estimation.binomial import Verdict, design
from depl.models.estimation.certificate import Certificate, HeldOut, QuantileBound
from depl.models.estimation.choices import CARE, PROMISED, plans_needed
from depl.models.estimation.diagnosis import Diagnosis
from depl.models.estimation.fit import TracesFit, fit_rows, schedule_label
from depl.models.estimation.independence import USABLE
from depl.models.evaluation.traced_law import runs_to_carry
from depl.models.evaluation.traced_loss import only_whole_runs
from depl.models.foundation.wording import counted, number, probability, rounded_down
from depl.models.problem.instance import Instance
from depl.models.problem.traced_law import TracedLaw
from depl.models.risk.discrete import decimal
from depl.models.tool_logs.importing import Imported
from depl.models.traces.log_rules import What
from depl.models.traces.lost import AT_RANDOM, LEFT_OUT, ledger, listed
from depl.models.traces.same_runs import ToldApart
from depl.models.traces.stages import StageRuns, stage_runs
from depl.models.traces.stages import told as stages_told
from depl.models.traces.table import Traces
from depl.showing.parts import (
    DOWN,
    NAMES,
    OUTWARD,
    UP,
    Columns,
    Fact,
    Listing,
    Names,
    Pairs,
    Section,
    picked,
    promised,
)

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


def traces_content(found: Traces) -> dict[str, Any]:
    """How many runs of which schedules there are, and where they come from."""
    runs = {schedule_label(schedule): len(runs) for schedule, runs in found.by_schedule().items()}
    return {"runs": len(found.runs), "schedules": runs, "provenance": dict(found.provenance)}


def traces_sections(found: Traces) -> Iterator[Section]:
    """What was trained, where the losses end, and where the table comes from."""
    final, schedules = found.loss[found.bounds[1:] - 1], counted(len(found.by_schedule()), "schedule")
    yield "", f"{counted(len(found.runs), 'run')} of {schedules}"
    yield "", [("last loss", f"{number(final.min())} to {number(final.max())}"), *found.provenance.items()]
    yield "Runs behind each stage:", stage_listing(stage_runs(found))


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
        "diverged": found.diverged,
        "dropped": found.dropped,
        "lost": traces.lost,
        "left_out": ledger(traces.provenance, LEFT_OUT),
        "unread": log.unread,
        "same_runs": {item.run: item.other for item in found.repeats},
    }


def _schedules(found: Imported) -> list[tuple[str, int]]:
    return [(stages_told(schedule), len(runs)) for schedule, runs in found.traces.by_schedule().items()]


def _noted(found: Imported) -> Counter[What]:
    """Notes by kind, and runs that are shorter than the longest, which only all runs together tell."""
    counts = Counter(note.what for note in found.notes)
    ends = found.traces.last_epochs
    counts[What.SHORTER] = int(np.count_nonzero(ends < ends.max()))
    return +counts


def imported_sections(found: Imported, out: str | None = None) -> Iterator[Section]:
    """What was read and how; schedules; and where the traces are kept, the commands that lead on."""
    ordered = sorted(_schedules(found), key=lambda row: -row[1])
    rows, others = ordered[:_MOST_STAGES], ordered[_MOST_STAGES:]
    if others:
        rows.append((f"{len(others)} others", sum(runs for _, runs in others)))
    yield "", _read(found)
    yield f"What was trained, in {counted(len(found.traces.runs), 'run')}:", Listing(("stages", "runs"), rows)
    yield "", "" if out is None else _AFTER_IMPORT.format(runs=shlex.quote(out))


_AFTER_IMPORT = """\
What comes next:
  depl diagnose {runs}
  depl instances new --setup --out setup.json   # and write into it what runs do not say
  depl fit {runs} --template setup.json --out mine.json
Fresh runs of a plan are not fitted, which would spend them; they judge it:
  depl certify {runs} --target L --omega P --plan plan.json --chosen-by mine.json"""
"""The commands that lead on, from runs before a plan and from fresh ones, which fit would spend."""


def _read(found: Imported) -> Pairs:
    traces, log = found.traces, found.log
    runs, schedules, begins = len(traces.runs), len(traces.by_schedule()), int(traces.epoch.min())
    yield "logs", f"{counted(runs, 'run')} of {log.tool}{f', recognised by {log.why}' if log.why else ''}"
    ends = traces.loss[traces.bounds[:-1]], traces.loss[traces.bounds[1:] - 1]
    first, last = (number(float(np.median(losses))) for losses in ends)
    yield "loss", f"{found.facts[0][1]}: median {first} after epoch {begins}, {last} at the end"
    yield "epochs", f"{begins} to {traces.epoch.max()}"
    yield from found.facts[1:]
    if without := runs - int((traces.epoch == 0).sum()):
        which = "no run was" if without == runs else f"{counted(without, 'run')} not"
        seen = "the law of l(1) is then as it was seen, and policies decide from epoch 1 on"
        yield "before training", f"{which} evaluated: {seen}"
    yield from ((what.value, f"{count} {_NOTES[what]}") for what, count in _noted(found).items())
    if schedules < plans_needed(CARE):
        few = f"{counted(schedules, 'schedule')}, too few for the margin of plans that were never run"
        way = "fit --care 0 leaves it out, for promises that fresh runs are to certify"
        yield "policies", f"{few}, which takes {plans_needed(CARE)}; {way}"
    if traces.lost:
        yield "lost", f"{len(traces.lost)}, which fit and certify count as misses: {listed(traces.lost)}"


CONFIDENCE = 0.95

_AGAINST = "the independent law must not be used"
REFUSED = f"{_AGAINST}: "
"""How warnings begin that speak against the law."""

_DIGITS = 3


def diagnosis_content(
    found: Diagnosis, fit: TracesFit | None = None, facts: Mapping[str, Any] | None = None, **of: str
) -> dict[str, Any]:
    """Every number of the tests and of a fit, with the three facts if there are any; ``of`` says of what."""
    fit = found.fit if fit is None else fit
    return {
        **of,
        "runs": found.runs,
        "same_runs": dict(found.same_runs),
        **picked(found, "usable most_of_one_schedule behind warnings whole stages levels promises"),
        "fits": fit_rows(fit.improvements),
        "switches": list(_switches(fit)),
        "refused": fit.refused,
        "facts": facts,
    }


def _switches(fit: TracesFit) -> Iterator[dict[str, Any]]:
    for pair, item in fit.jumps.items():
        counts = {"jumps": item.jumps.size, "estimated": item.estimated, "nonpositive": item.nonpositive}
        moments = {"mean": float(item.jumps.mean()), "deviation": float(item.jumps.std()), "best": item.best}
        laws = [{**asdict(law), "p_value": law.p_value} for law in item.laws]
        yield {"from": pair[0], "to": pair[1], **counts, **moments, "laws": laws}


def diagnosis_sections(
    found: Diagnosis,
    name: str = "RUNS",
    fit: TracesFit | None = None,
    facts: Mapping[str, Any] | None = None,
    details: bool = False,
    command: str = "",
) -> Iterator[Section]:
    """Whether the law may be used, how many runs there are, and what to do next; fits and tests as details.

    A ``fit`` is shown in place of that of every model, the three ``facts`` of Sec. II where there are any;
    ``command`` names the traces as a command is told them, with its options.
    """
    given, notes = command or name, counted(len(found.warnings), "warning")
    yield "", f"{name}: the independent law {'may' if found.usable else 'must NOT'} be used"
    yield "", [("paper's law", _why(found)), *_carried(found, given)]
    yield "Runs behind each stage:", stage_listing(found.behind)
    if details:
        yield from _details(found, found.fit if fit is None else fit, facts)
    else:
        begin = f"{notes}, fits and tests" if found.warnings else "Fits and tests"
        yield "", f"{begin}: depl diagnose {given} --details"


def _why(found: Diagnosis) -> str:
    """Whether the independent law may be used, with the reason that weighs most."""
    if not found.usable:
        reasons = [note for note in found.warnings if note.startswith(_AGAINST)]
        first = min(reasons, key=lambda note: not note.startswith(REFUSED))  # of whole runs, if there is one
        return f"not to be used{first.removeprefix(_AGAINST)}"
    ratio, bounds = found.whole.variance_ratio.value, found.whole.bounds
    return (
        f"may be used: whole runs vary {number(ratio, 2)} times as much as independent increments would (95 "
        f"% interval {number(bounds.lower, 2)} to {number(bounds.upper, 2)}), and {number(USABLE[0])} to "
        f"{number(USABLE[1])} will do"
    )


def _carried(found: Diagnosis, given: str) -> Pairs:
    """What the runs of the schedule with most of them can carry, and what comes next."""
    most, needed = found.most_of_one_schedule, {level: runs_to_carry(level) for level in PROMISED}
    told = f"{found.runs}, of {counted(found.schedules, 'schedule')}; {most} of the schedule with most runs"
    kept = [number(level) for level, runs in needed.items() if runs <= most]
    sure = [number(level) for level in PROMISED if runs_to_carry(level, CONFIDENCE) <= most]
    carried = f"{told}: too few for a promise of {number(PROMISED[0])}, which takes {needed[PROMISED[0]]}"
    following = ", ".join(f"{number(level)} takes {runs}" for level, runs in needed.items())
    following = f"train more runs of one schedule: a promise of {following} of them"
    if kept:
        confident = f"{['none', *sure][-1]} with confidence {number(CONFIDENCE)}"
        average = f"they carry a promise of {kept[-1]} that is right on average, and {confident}"
        carried = f"{told}: if none of them misses the target, {average}, for a plan that they did not choose"
        law = " --law independent" if found.usable else ""
        begins = "# depl instances new --setup --out setup.json begins the setup"
        following = f"depl fit {given} --template setup.json --out mine.json{law}   {begins}"
    yield "runs", carried
    yield from found.same_runs
    yield "next", following


def stage_listing(behind: Sequence[StageRuns]) -> Listing:
    """A row per stage: by how many runs it was trained, after what, from when and how long."""
    columns: Columns = {
        "model": "model",
        "cluster": "cluster",
        "runs": "runs",
        "after": lambda stage: "nothing" if stage.first else ", ".join(stage.after),
        "epochs before it": lambda stage: "0" if stage.first else f"{stage.starts[0]} to {stage.starts[1]}",
        "epochs at most": "epochs",
    }
    return Listing.of(behind, columns)


def _details(found: Diagnosis, fit: TracesFit, facts: Mapping[str, Any] | None) -> Iterator[Section]:
    """Fits, tests, and what promises under the law are worth, by the names that ``--json`` has."""
    tested: Columns = {
        "of": lambda item: item[0],
        "runs": lambda item: item[1].runs,
        "epochs": lambda item: item[1].epochs,
        "variance ratio": lambda item: item[1].variance_ratio.value,
        "95 % interval": lambda item: item[1].bounds,
        "p": lambda item: item[1].variance_ratio.p_value,
        "with first loss": lambda item: item[1].start_correlation and item[1].start_correlation.value,
        "1, 2, ... apart": lambda item: tuple(one.value for one in item[1].autocorrelations),
    }
    compared = Listing.of([("whole runs", found.whole), *found.stages.items()], tested, _DIGITS)
    yield "Independence of the increments (ratio 1), and their correlations:", compared
    yield "Improvements, scale / sqrt(k + offset) X with E[X] = 1:", _table(fit_rows(fit.improvements))
    yield "", _READING
    switches = [{name: value for name, value in row.items() if name != "laws"} for row in _switches(fit)]
    yield "Loss of switches:", _table(switches)
    levels = "Final losses by the fitted law and observed, and the share below its 0.95-quantile:"
    yield levels, _table(found.levels)
    yield "What a promised probability of missing is worth:", _table(found.promises)
    yield "Warnings:" if found.warnings else "", "\n".join(f"- {note}" for note in found.warnings)
    if facts is not None:
        spreads = "1. Losses of runs of a schedule spread, from the 1 to the 99 % quantile:"
        yield spreads, _table(facts["spreads"])
        yield "2. Schedules differ; p of equal distributions:", _table(facts["differences"])
        yield "3. Mean falls and deviation rises, in a share of the pairs of epochs:", _table(facts["trends"])


_READING = (
    "gamma shape and p values are those of the inverse gamma. paper p value: as in the paper, for the\n"
    "positive ratios, with fitted parameters put in. p value: by a bootstrap that fits anew; 0 where ratios\n"
    "are not positive."
)


def _table(rows: Sequence[Any]) -> Listing:
    """A row per object or mapping, under the names of its fields."""
    found = [row if isinstance(row, Mapping) else vars(row) for row in rows]
    header = [name.replace("_", " ") for name in found[0]] if found else []
    return Listing(header, [list(row.values()) for row in found], _DIGITS)


class Fitted(NamedTuple):
    """An instance with the runs that it was fitted to, and how a command names them.

    ``usable`` says whether the paper's laws may be used, None where the runs cannot tell, and ``reason`` why
    not.
    """

    instance: Instance
    apart: ToldApart
    usable: bool | None
    reason: str
    traces: str
    metric: str

    @property
    def stages(self) -> tuple[StageRuns, ...]:
        """Those inside the support of the runs; none of the paper's laws has one."""
        traced = self.instance.traced_law
        return () if traced is None else stage_runs(self.apart.traces, self.apart.origins)


def fitted_content(
    found: Fitted, out: str = "", law: str = "", advice: Advice | None = None
) -> dict[str, Any]:
    """What was fitted, by which law, and into which file."""
    instance, traces, traced = found.instance, found.apart.traces, found.instance.traced_law
    return {
        "out": out,
        "instance": instance.name,
        "fingerprint": instance.fingerprint,
        "traces": found.traces,
        "metric": found.metric,
        "law": law,
        **picked(traced, "residuals scale deviations confidence diverged"),
        "never_run_refused": getattr(traced, "only_whole_runs", None),
        "lost": traces.lost,
        "left_out_by_name": ledger(traces.provenance, LEFT_OUT),
        "cut_at_random": list(ledger(traces.provenance, AT_RANDOM)),
        "runs": len(traces.runs),
        "schedules": len(traces.by_schedule()),
        "same_runs": {item.run: item.other for item in found.apart.repeats},
        "dependent_runs": {item.run: item.other for item in found.apart.forks},
        "models": [model.name for model in instance.models],
        "clusters": [cluster.name for cluster in instance.clusters],
        "stages": found.stages,
        "independent_law_usable": found.usable,
        "reason": found.reason,
        "next_runs": None if advice is None else advice_content(advice),
    }


def fitted_sections(found: Fitted, following: str = "", advice: Advice | None = None) -> Iterator[Section]:
    """What the fit is worth, the stages that its runs support, further runs, and commands that lead on."""
    yield "", _fit(found)
    yield "Stages inside the support of the runs:", stage_listing(found.stages)
    yield from () if advice is None else advice_sections(advice)
    yield "", following


def _fit(found: Fitted) -> Pairs:
    instance, traces, traced = found.instance, found.apart.traces, found.instance.traced_law
    target, metric = instance.target, found.metric
    yield instance.name, f"fitted to {found.traces}"
    yield "runs", f"{len(traces.runs)}, of {counted(len(traces.by_schedule()), 'schedule')}"
    yield from found.apart.said()
    yield "models", ", ".join(model.name for model in instance.models)
    if traced is None:
        yield "law", "independent improvements and switches, as in the paper"
    else:
        of = "" if traced.scale == "loss" else f" of the logarithm of the {metric}"
        together = traced.residuals == "per_run"
        yield "law", f"affine{of}, residuals {'kept per run' if together else 'independent'}"
        if together:
            yield from _counted(instance, traced)
        yield "never run", _never_run(traced)
    start = "l(1) on as it was seen: runs were not evaluated before training"
    if instance.rules.known_start:
        start = number(target.initial_loss)
    event = f"{probability(target.quantile_level)}-quantile of the final {metric}"
    yield "promise", f"{event} at most {number(target.maximum_loss)}, from {start}"
    yield "lost runs", _lost(traces.lost, 0 if traced is None else traced.diverged)
    for name, key in (("left out", LEFT_OUT), ("cut at random", AT_RANDOM)):
        if runs := ledger(traces.provenance, key):  # what was said of single runs, and is believed
            yield name, f"{len(runs)}, as told: {listed(runs)}"
    usable = {None: f"not judged: {found.reason}", True: "may be used"}
    yield "independent law", usable.get(found.usable, f"must NOT be used: {found.reason}")


def _counted(instance: Instance, traced: TracedLaw) -> Pairs:
    level = instance.target.quantile_level
    needed = runs_to_carry(level, traced.confidence, traced.diverged)
    lost = f"{traced.diverged} that diverged or were lost" if traced.diverged else ""
    if traced.confidence is None:
        misses = f"{lost} and one more as misses" if lost else "one more as a miss"
        average = "right on average over all sets of runs, for plans that they did not choose"
        yield "promises", f"marginal: {average}; each n of a plan count with {misses}"
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
        bold = "the law flatters plans that a solver picks, and promises for them are bold"
        return f"NO margin, as asked: {bold}"
    usual, worst = (
        number(value) if traced.scale == "loss" else f"{number(100 * math.expm1(value), 3)} %"
        for value in (median(traced.deviations), max(traced.deviations))
    )
    return f"plans that too few runs went through are taken to end {usual} higher, at worst {worst}"


def _lost(lost: Mapping[str, str], diverged: int) -> str:
    """How runs that diverged or were lost are counted, or that there are none."""
    if not diverged:
        told = "say --diverged N if N runs did, or let depl certify count them"
        return f"none counted: promises are for runs that do not diverge; {told}"
    each = "each counted as a miss of every plan, and in every stage of a plan never run"
    return f"{counted(diverged, 'run')}, {each}{f': {listed(lost)}' if lost else ''}"


advice_names: Names = {**NAMES, "most_saved": ("saved by further runs", "cost", UP, 6)}


def advice_content(found: Advice) -> dict[str, Any]:
    """Everything that is advised, with stages in the place of epochs."""
    told = [{**vars(one), "advised": one.advised._asdict()} for one in found.options]
    for row in told:
        row |= {name: stages_told(row[name]) for name in ("schedule", "trained")}
    return picked(found, "target level cost lower_bound most_saved") | {"options": told}


def advice_sections(found: Advice) -> Iterator[Section]:
    """What is promised now, what further runs can save at most, and which are advised."""
    yield "What to run next:", _advised(found)


def _advised(found: Advice) -> Pairs:
    asked = f"P(l(K) <= {number(found.target)}) >= {probability(found.level)}"
    by = "refuted, each by its runs with confidence 0.95 or by the fitted law"
    if math.isinf(found.lower_bound):
        told = f"all plans inside the support are {by}"
        yield "now", f"no plan is promised {asked}, and no further runs are advised: {told}"
        return
    cost = partial(Fact, "", unit=found.units.name("cost"), digits=6)
    least = cost(found.lower_bound, rounding=DOWN)
    opened = f"what further runs open costs {least.told}, as cheaper ones inside the support are {by}"
    if found.most_saved is None:
        yield "now", f"no plan is promised {asked}; {opened}"
    elif found.most_saved:
        saved = cost(found.most_saved, rounding=UP).told
        yield "now", f"{cost(found.cost).shown} is paid for {asked}; {opened}: it saves {saved}"
    else:
        yield "now", f"no further runs open a cheaper plan for {asked}: all are {by}"
        return
    for one in found.options:
        yield "run", _option(found, one)
    none = "none is likely enough to help of the plans that six runs or more went through"
    yield "run", None if found.options else none
    spread = "by the spread of the runs seen; that fresh runs spread like them is an assumption"
    yield "estimated", spread if found.options else None


def _option(found: Advice, one: Option) -> str:
    runs, allowed, share = one.advised
    further = f", trained on to {schedule_label(one.trained)} as others were"
    on = "" if one.trained == one.schedule else further
    cost = found.units.amount(one.cost, "cost")
    return (
        f"{runs} more of {schedule_label(one.schedule)}{on}: promised at {cost} "
        f"if {f'at most {allowed}' if allowed else 'none'} of them misses, with probability "
        f"{rounded_down(share, 2)} as estimated; of {one.seen} seen {one.missed} missed"
    )


certificate_names: Names = {
    "violation": ("P(target missed)", "", OUTWARD, 4),
    "greatest_violation": ("P(target missed)", "", UP, 4),
}


def certificate_content(found: Certificate, judges: HeldOut | None = None, **of: Any) -> dict[str, Any]:
    """What the runs prove; ``of`` says of what, in front."""
    left_out = {} if judges is None else {"left_out": dict(judges.left_out)}
    return {**of, "certified": found.certified, **left_out, **vars(found)}


def certificate_sections(
    found: Certificate, judges: HeldOut | None = None, traces: str = "RUNS", metric: str = "loss"
) -> Iterator[Section]:
    """The verdict, and what it rests on; never without the number of runs and the confidence."""
    few, many = ("is", "shows") if found.runs == 1 else ("are", "show")
    runs, sure = counted(found.runs, "run"), f"with confidence {number(found.confidence)}"
    verdict = {
        Verdict.CERTIFIED: f"certified by {runs} {sure}",
        Verdict.REFUTED: f"NOT certified: {runs} {many} {sure} that the promise is broken",
        Verdict.UNDECIDED: f"NOT certified: {runs} {few} too few to tell {sure}",
    }
    yield "", f"{traces}: {verdict[found.verdict]}"
    yield "", _certified(found, judges, metric)


def _certified(found: Certificate, judges: HeldOut | None, metric: str) -> Pairs:
    level, confidence = number(found.level), number(found.confidence)
    yield "promise", f"P(final {metric} <= {number(found.target)}) >= {level}"
    if judges is not None:
        yield "plan", schedule_label(judges.schedule) or "does not train"
    exceed = [f"{found.exceedances} of {found.runs} exceed the target"]
    ways = {
        "ended before the plan": found.stopped,
        "diverged or were lost": found.diverged,
        "are too flat to be told from others": found.flat,
    }
    for what, names in ways.items():
        shown = ", ".join([repr(names[0]), "..."][: len(names)]) if names else ""
        exceed += [f"{len(names)} of them because they {what} ({shown})"] if names else []
    allowed = "so few runs certify nothing" if found.allowed is None else f"at most {found.allowed} may"
    yield "runs", "; ".join([*exceed, allowed])
    kept = promised(found.greatest_violation, 4).told
    both = Fact("", (1 - found.violation.upper, 1 - found.violation.lower), "", OUTWARD, 4).number
    yield "delivered", f"{kept} with confidence {confidence}; from both sides {both}"
    few, many = number(found.p_value, 4), number(found.refuting_p_value, 4)
    broken = f"so few misses or fewer have probability {few} if the promise only just fails"
    yield "by chance", f"{broken}, so many or more {many} if it only just holds"
    yield "quantile", _bound(found.quantile, found.runs, f"the {level}-quantile", f"confidence {confidence}")
    averaged = f"probability {level}, averaged over such samples"
    yield "next run", _bound(found.conformal, found.runs, "it", averaged)
    if judges is not None and judges.left_out:
        left_out = counted(len(judges.left_out), "run")
        yield "left out", f"{left_out}, as told: {listed(judges.left_out)}"
    yield "needed", None if found.certified else _needed(found)


def _bound(bound: QuantileBound, runs: int, what: str, surety: str) -> str:
    if bound.rank is None:
        return f"no bound, which takes {counted(bound.least_runs, 'run')}"
    if math.isinf(bound.value):
        return f"no bound, because too many runs have no final value (rank {bound.rank} of {runs})"
    return f"{what} is {Fact('', bound.value, '', UP, 4).told} with {surety} (rank {bound.rank} of {runs})"


def _needed(found: Certificate) -> str:
    if found.verdict is Verdict.REFUTED:
        return "another plan, or a lower promise: more runs of this one will not certify it"
    runs = f"{counted(found.needed, 'run')} if no more than {found.exceedances} exceed"
    text = f"a new sample, its size fixed before it is drawn: {runs}"
    share, promise = Fraction(found.exceedances, found.runs), 1 - decimal(found.level)
    likely = design(found.level, found.confidence, float(share)) if share < promise else None
    if likely is not None:
        text += f"; {likely.runs} to certify nine times in ten if they exceed as often as here"
    elif found.exceedances:
        text += "; as often as here is too often for a sample of any practical size"
    return f"{text}. To add runs until it is certified proves nothing"


def unnamed(judges: HeldOut, named: bool) -> str:
    """What of the runs that chose the plan the certificate cannot exclude; empty for nothing."""
    worth = "this certificate is worth nothing."
    if not named:
        unknown = "the runs used to choose the plan were not named (--chosen-by)"
        return f"note: {unknown}. If any of these is among them, {worth}"
    if not judges.untold:
        return ""
    runs = f"{counted(len(judges.untold), 'run')} that chose the plan ({judges.untold[0]!r}, ...)"
    return f"note: too short or too flat to be known again: {runs}. If any is among these, {worth}"
