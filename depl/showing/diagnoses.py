"""A diagnosis of traces for people: fits, tests, and whether the independent law may be used."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from depl.models.estimation.combinations import TracesFit, fit_rows
from depl.models.estimation.diagnosis import Diagnosis
from depl.models.estimation.facts import Facts
from depl.models.estimation.fit import FittedLaw
from depl.models.estimation.independence import USABLE, Independence
from depl.models.evaluation.traced_counting import runs_to_carry
from depl.models.foundation.wording import counted, number, percentage
from depl.models.traces.stages import StageRuns
from depl.showing.parts import Listing, Pairs, Section

PROMISED = (0.8, 0.9, 0.95, 0.99)
"""Probabilities that promises are usually asked for."""

CONFIDENCE = 0.95

_AGAINST = "the independent law must not be used"
REFUSED = f"{_AGAINST}: "
"""How warnings begin that speak against the law."""

_DIGITS = 3
_READING = (
    "shape and p are those of the inverse gamma. p printed: as in the paper, for the positive ratios, with\n"
    "fitted parameters put in. p honest: by a bootstrap that fits anew; 0 where ratios are not positive."
)


def diagnosis_content(
    found: Diagnosis, fit: TracesFit | None = None, facts: Facts | None = None, **of: str
) -> dict[str, Any]:
    """Every number of the tests and of a fit, with the three facts if there are any; ``of`` says of what."""
    fit = found.fit if fit is None else fit
    return {
        **of,
        "runs": found.runs,
        "same_runs": dict(found.same_runs),
        "usable": found.usable,
        "most_of_one_schedule": found.most_of_one_schedule,
        "behind": [asdict(item) for item in found.behind],
        "warnings": list(found.warnings),
        "whole": asdict(found.whole),
        "stages": {model: asdict(item) for model, item in found.stages.items()},
        "levels": [asdict(item) for item in found.levels],
        "promises": [asdict(item) for item in found.promises],
        "fits": [asdict(row) for row in fit_rows(fit.improvements)],
        "switches": [
            {
                "from": previous,
                "to": following,
                "jumps": item.jumps.size,
                "estimated": fit.estimated_jumps[previous, following],
                "nonpositive": item.nonpositive,
                "best": item.best,
                "laws": [_law(law) for law in item.laws],
            }
            for (previous, following), item in fit.jumps.items()
        ],
        "refused": dict(fit.refused),
        "facts": None if facts is None else asdict(facts),
    }


def _law(law: FittedLaw) -> dict[str, Any]:
    goodness = law.goodness._asdict()
    return {**asdict(law), "parameters": dict(law.parameters), "goodness": goodness, "p_value": law.p_value}


def _usable(found: Diagnosis) -> str:
    return f"the independent law {'may' if found.usable else 'must NOT'} be used"


def diagnosis_sections(
    found: Diagnosis,
    name: str = "RUNS",
    fit: TracesFit | None = None,
    facts: Facts | None = None,
    details: bool = False,
    command: str = "",
) -> list[Section]:
    """What to know first: whether the law may be used, how many runs there are, and what to do next.

    Parameters
    ----------
    name : str
        Of the traces.
    fit : TracesFit, optional
        Shown among the details instead of that of every model.
    facts : Facts, optional
        The three facts of Sec. II, where many runs share a schedule; shown among the details.
    details : bool
        Show fits, tests, warnings, and what promises under the law are worth, too.
    command : str
        The traces as a command is told them, with its options; ``name`` by default.
    """
    given = command or name
    first = [
        ("paper's law", _why(found)),
        ("runs", _carried(found)),
        *found.same_runs,
        ("next", _next(found, given)),
    ]
    sections = [
        Section("", f"{name}: {_usable(found)}"),
        Section("", Pairs(first)),
        Section("Runs behind each stage:", stage_listing(found.behind)),
    ]
    if details:
        return [*sections, *_details(found, found.fit if fit is None else fit, facts)]
    notes = (
        f"{counted(len(found.warnings), 'warning')}, fits and tests" if found.warnings else "Fits and tests"
    )
    return [*sections, Section("", f"{notes}: depl diagnose {given} --details")]


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


def _carried(found: Diagnosis) -> str:
    """What the runs of the schedule with most of them can carry, if none of them misses the target."""
    most = found.most_of_one_schedule
    told = f"{found.runs}, of {counted(found.schedules, 'schedule')}; {most} of the schedule with most runs"
    levels = [level for level in PROMISED if runs_to_carry(level) <= most]
    if not levels:
        least = PROMISED[0]
        return f"{told}: too few for a promise of {number(least)}, which takes {runs_to_carry(least)}"
    sure = [level for level in PROMISED if runs_to_carry(level, CONFIDENCE) <= most]
    confident = number(sure[-1]) if sure else "none"
    return (
        f"{told}: if none of them misses the target, they carry a promise of {number(levels[-1])} that is "
        f"right on average, and {confident} with confidence {number(CONFIDENCE)}"
    )


def _next(found: Diagnosis, given: str) -> str:
    if found.most_of_one_schedule < runs_to_carry(PROMISED[0]):
        needed = ", ".join(f"{number(level)} takes {runs_to_carry(level)}" for level in PROMISED)
        return f"train more runs of one schedule: a promise of {needed} of them"
    law = " --law independent" if found.usable else ""
    return (
        f"depl fit {given} --template setup.json --out mine.json{law}   # depl instances new --setup --out "
        "setup.json begins the setup"
    )


def stage_listing(behind: Sequence[StageRuns]) -> Listing:
    """A row per stage: by how many runs it was trained, after what, from when and how long."""
    header = ("model", "cluster", "runs", "after", "epochs before it", "epochs at most")
    values = ("model", "cluster", "runs", _after, _begins, "epochs")
    return Listing.of(behind, header, values, left=("model", "cluster", "after"))


def _after(stage: StageRuns) -> str:
    return "nothing" if stage.first else ", ".join(stage.after)


def _begins(stage: StageRuns) -> str:
    return "0" if stage.first else f"{stage.starts[0]} to {stage.starts[1]}"


def _details(found: Diagnosis, fit: TracesFit, facts: Facts | None) -> Iterator[Section]:
    """Fits, tests, and what promises under the law are worth."""
    yield Section("Independence of the increments:", Pairs(_independence(found.whole)))
    yield Section("Improvements, A / sqrt(k + B) X with E[X] = 1:", _fits(fit))
    yield Section("", _READING)
    if fit.jumps:
        yield Section("Loss of switches:", _jumps(fit))
    if found.stages:
        yield Section("Variance ratios by model, from switch to switch:", _stages(found))
    if found.levels:
        yield Section("Final losses of frequent schedules, by the fitted law and in truth:", _levels(found))
    header = ("promised", "as measured", "AR(1) as measured", "AR(1) of 0.3", "shared factor of 0.1")
    cells = [[percentage(value, 2) for value in asdict(item).values()] for item in found.promises]
    yield Section(
        "What a promised probability of missing the target is worth:", Listing(header, cells, header)
    )
    if found.warnings:
        yield Section("Warnings:", "\n".join(f"- {note}" for note in found.warnings))
    if facts is not None:
        yield Section(
            "The three facts of Sec. II, for schedules that many runs share:", "\n".join(_told(facts))
        )


def _independence(whole: Independence) -> list[tuple[str, str]]:
    ratio, bounds, start = whole.variance_ratio, whole.bounds, whole.start_correlation
    ends = f"95 % interval {number(bounds.lower, _DIGITS)} to {number(bounds.upper, _DIGITS)}"
    tested = f"p = {number(ratio.p_value, _DIGITS)}; 1 if independent"
    first = "all runs begin alike"
    if start is not None:
        first = f"correlation {number(start.value, 2)}, p = {number(start.p_value, _DIGITS)}"
    return [
        ("compared", f"{whole.runs} runs of {whole.epochs} epochs that share their schedule"),
        ("variance ratio", f"{number(ratio.value, _DIGITS)}, {ends}, {tested}"),
        ("first loss with improvement", first),
        (
            "correlations, 1, 2, ... apart",
            ", ".join(number(item.value, 2) for item in whole.autocorrelations) or "none",
        ),
    ]


def _fits(fit: TracesFit) -> Listing:
    header = ("model", "runs", "ratios", "<= 0", "A", "B", "shape", "p printed", "p honest", "best law")
    fitted = ("scale", "offset", "gamma_shape", "paper_p_value", "p_value", "best")
    values = ("combination", "runs", "ratios", lambda row: percentage(row.nonpositive / row.ratios), *fitted)
    return Listing.of(fit_rows(fit.improvements), header, values, ("model", "best law"), _DIGITS)


def _jumps(fit: TracesFit) -> Listing:
    def cells(pair: tuple[str, str]) -> list[object]:
        found = fit.jumps[pair]
        law = found.law("student_t") if found.laws else None
        tested = [None, None] if law is None else [law.goodness.paper_p_value, law.p_value]
        moments = [float(found.jumps.mean()), float(found.jumps.std())]
        counts = [found.jumps.size, fit.estimated_jumps[pair], found.nonpositive]
        return [" -> ".join(pair), *counts, *moments, found.best, *tested]

    moments, tested = ("mean", "deviation"), ("p printed", "p honest")
    header = ("switch", "jumps", "estimated", "<= 0", *moments, "best law", *tested)
    return Listing.rounded(map(cells, fit.jumps), header, ("switch", "best law"), _DIGITS)


def _stages(found: Diagnosis) -> Listing:
    tested = ("variance_ratio.value", "bounds.lower", "bounds.upper", "variance_ratio.p_value")
    numbers = attrgetter("runs", *tested)
    cells = ([model, *numbers(whole)] for model, whole in found.stages.items())
    return Listing.rounded(cells, ("model", "runs", "variance ratio", "from", "to", "p"), ("model",), _DIGITS)


def _levels(found: Diagnosis) -> Listing:
    mean, deviation = ("mean by law", "observed"), ("deviation by law", "observed")
    header = ("schedule", "runs", *mean, *deviation, "below 0.95-quantile")
    means, deviations = ("predicted_mean", "observed_mean"), ("predicted_deviation", "observed_deviation")
    values = ("schedule", "runs", *means, *deviations, lambda item: percentage(item.delivered))
    return Listing.of(found.levels, header, values, ("schedule",), _DIGITS)


def _told(facts: Facts) -> Iterator[str]:
    """The three facts of Sec. II in a sentence each per schedule or pair."""
    for item in facts.spreads:
        yield (
            f"1. {item.schedule}: after epoch {item.epoch} the 1 to 99 % band of {item.runs} runs goes from "
            f"{number(item.lower, _DIGITS)} to {number(item.upper, _DIGITS)}, "
            f"{number(item.relative, 2)} times the mean wide"
        )
    for pair in facts.differences:
        means, deviations = (
            " and ".join(number(value, _DIGITS) for value in values)
            for values in (pair.means, pair.deviations)
        )
        yield (
            f"2. {pair.first} | {pair.second}: at epoch {pair.epoch} means {means}, deviations {deviations}; "
            f"p = {number(pair.p_value, 2)} for equal distributions"
        )
    for trend in facts.trends:
        yield (
            f"3. {trend.schedule}: in {percentage(trend.share, 2)} of the pairs of epochs of a stage (95 % "
            f"interval {percentage(trend.bounds.lower, 2)} to {percentage(trend.bounds.upper, 2)}) the mean "
            "falls and the deviation rises from the first to the second"
        )
