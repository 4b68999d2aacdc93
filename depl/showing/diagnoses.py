"""A diagnosis of traces for people: fits, tests, and whether the independent law may be used."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from depl.models.estimation.combinations import FitRow, TracesFit, fit_rows
from depl.models.estimation.diagnosis import Diagnosis
from depl.models.estimation.facts import Facts
from depl.models.estimation.independence import USABLE, Independence, Tested
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


def diagnosis_brief(found: Diagnosis) -> str:
    """One line on a diagnosis."""
    verdict = "may be used" if found.usable else "must NOT be used"
    runs = counted(found.runs, "run")
    return f"<Diagnosis of {runs}: the independent law {verdict}; {counted(len(found.warnings), 'warning')}>"


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
    verdict = "the independent law may be used" if found.usable else "the independent law must NOT be used"
    first = [
        ("paper's law", _why(found)),
        ("runs", _carried(found)),
        *found.same_runs,
        ("next", _next(found, given)),
    ]
    sections = [
        Section("", f"{name}: {verdict}"),
        Section("", Pairs(first)),
        Section("Runs behind each stage:", stage_listing(found.behind)),
    ]
    if details:
        return sections + _details(found, found.fit if fit is None else fit, facts)
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
    confident = f"{number(sure[-1])}" if sure else "none"
    return (
        f"{told}: if none of them misses the target, they carry a promise of {number(levels[-1])} that is "
        f"right on average, and {confident} with confidence {number(CONFIDENCE)}"
    )


def _next(found: Diagnosis, given: str) -> str:
    least = runs_to_carry(PROMISED[0])
    if found.most_of_one_schedule < least:
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
    rows = [
        (
            stage.model,
            stage.cluster,
            str(stage.runs),
            "nothing" if stage.first else ", ".join(stage.after),
            "0" if stage.first else f"{stage.starts[0]} to {stage.starts[1]}",
            str(stage.epochs),
        )
        for stage in behind
    ]
    return Listing(header, rows, right=("runs", "epochs before it", "epochs at most"))


def _details(found: Diagnosis, fit: TracesFit, facts: Facts | None) -> list[Section]:
    """Fits, tests, and what promises under the law are worth."""
    sections = [
        Section("Independence of the increments:", Pairs(_independence_fields(found.whole))),
        Section("Improvements, A / sqrt(k + B) X with E[X] = 1:", _fit_table(fit_rows(fit.improvements))),
        Section("", _READING),
    ]
    if fit.jumps:
        sections.append(Section("Loss of switches:", _jump_table(fit)))
    if found.stages:
        title = "Variance ratios by model, from switch to switch:"
        sections.append(Section(title, _stage_table(found.stages)))
    if found.levels:
        title = "Final losses of frequent schedules, by the fitted law and in truth:"
        sections.append(Section(title, _level_table(found)))
    title = "What a promised probability of missing the target is worth:"
    sections.append(Section(title, _promise_table(found)))
    if found.warnings:
        sections.append(Section("Warnings:", "\n".join(f"- {note}" for note in found.warnings)))
    return sections if facts is None else [*sections, Section("", _facts_text(facts))]


def _independence_fields(whole: Independence) -> list[tuple[str, str]]:
    ratio, bounds = whole.variance_ratio, whole.bounds
    start = whole.start_correlation
    correlations = ", ".join(number(item.value, 2) for item in whole.autocorrelations) or "none"
    return [
        ("compared", f"{whole.runs} runs of {whole.epochs} epochs that share their schedule"),
        (
            "variance ratio",
            f"{number(ratio.value, _DIGITS)}, 95 % interval {number(bounds.lower, _DIGITS)} to "
            f"{number(bounds.upper, _DIGITS)}, p = {number(ratio.p_value, _DIGITS)}; 1 if independent",
        ),
        ("first loss with improvement", "all runs begin alike" if start is None else _tested(start)),
        ("correlations, 1, 2, ... apart", correlations),
    ]


def _tested(item: Tested) -> str:
    return f"correlation {number(item.value, 2)}, p = {number(item.p_value, _DIGITS)}"


def _fit_table(rows: tuple[FitRow, ...]) -> Listing:
    header = ("model", "runs", "ratios", "<= 0", "A", "B", "shape", "p printed", "p honest", "best law")
    cells = [
        (
            row.combination,
            str(row.runs),
            str(row.ratios),
            percentage(row.nonpositive / row.ratios),
            *(number(value, _DIGITS) for value in (row.scale, row.offset, row.gamma_shape)),
            number(row.paper_p_value, _DIGITS),
            number(row.p_value, _DIGITS),
            row.best,
        )
        for row in rows
    ]
    return Listing(header, cells, right=header[1:-1])


def _jump_table(fit: TracesFit) -> Listing:
    header = (
        "switch",
        "jumps",
        "estimated",
        "<= 0",
        "mean",
        "deviation",
        "best law",
        "p printed",
        "p honest",
    )
    cells = []
    for (previous, following), found in fit.jumps.items():
        law = found.law("student_t") if found.laws else None
        cells.append(
            (
                f"{previous} -> {following}",
                str(found.jumps.size),
                str(fit.estimated_jumps[previous, following]),
                str(found.nonpositive),
                number(float(found.jumps.mean()), _DIGITS),
                number(float(found.jumps.std()), _DIGITS),
                found.best,
                number(None if law is None else law.goodness.paper_p_value, _DIGITS),
                number(None if law is None else law.p_value, _DIGITS),
            )
        )
    return Listing(header, cells, right=(*header[1:6], *header[7:]))


def _stage_table(stages: Mapping[str, Independence]) -> Listing:
    header = ("model", "runs", "variance ratio", "from", "to", "p")
    cells = [
        (
            model,
            str(found.runs),
            *(
                number(value, _DIGITS)
                for value in (
                    found.variance_ratio.value,
                    found.bounds.lower,
                    found.bounds.upper,
                    found.variance_ratio.p_value,
                )
            ),
        )
        for model, found in stages.items()
    ]
    return Listing(header, cells, right=header[1:])


def _level_table(found: Diagnosis) -> Listing:
    header = (
        "schedule",
        "runs",
        "mean by law",
        "observed",
        "deviation by law",
        "observed",
        "below 0.95-quantile",
    )
    cells = [
        (
            item.schedule,
            str(item.runs),
            *(
                number(value, _DIGITS)
                for value in (
                    item.predicted_mean,
                    item.observed_mean,
                    item.predicted_deviation,
                    item.observed_deviation,
                )
            ),
            percentage(item.delivered),
        )
        for item in found.levels
    ]
    return Listing(header, cells, right=header[1:])


def _promise_table(found: Diagnosis) -> Listing:
    header = ("promised", "as measured", "AR(1) as measured", "AR(1) of 0.3", "shared factor of 0.1")
    cells = [[percentage(value, 2) for value in asdict(item).values()] for item in found.promises]
    return Listing(header, cells, right=header)


def _facts_text(facts: Facts) -> str:
    """The three facts of Sec. II in a sentence each per schedule or pair."""
    lines = ["The three facts of Sec. II, for schedules that many runs share:"]
    lines += [
        f"1. {item.schedule}: after epoch {item.epoch} the 1 to 99 % band of {item.runs} runs goes from "
        f"{number(item.lower, _DIGITS)} to {number(item.upper, _DIGITS)}, {number(item.relative, 2)} times "
        "the mean wide"
        for item in facts.spreads
    ]
    lines += [
        f"2. {item.first} | {item.second}: at epoch {item.epoch} means {_both(item.means)}, deviations "
        f"{_both(item.deviations)}; p = {number(item.p_value, 2)} for equal distributions"
        for item in facts.differences
    ]
    lines += [
        f"3. {item.schedule}: in {percentage(item.share, 2)} of the pairs of epochs of a stage (95 % "
        f"interval {percentage(item.bounds.lower, 2)} to {percentage(item.bounds.upper, 2)}) the mean falls "
        "and the deviation rises from the first to the second"
        for item in facts.trends
    ]
    return "\n".join(lines)


def _both(pair: tuple[float, float]) -> str:
    return " and ".join(number(value, _DIGITS) for value in pair)
