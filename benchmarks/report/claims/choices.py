"""Claims on what plans do: which models for how many epochs, what loss they expect, how wide its band is."""

import operator
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from depl.benchmarks.analysis.table import Cell, Table
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.series import (
    BEST_EXP,
    DEPL,
    FAMILIES,
    FAST,
    MIDDLE,
    OPTIMUM,
    SLOW,
    Point,
    Series,
    families,
    sources,
)
from depl.benchmarks.report.verdicts import Captioned, Claim, Findings, Reading

SIMILAR = 0.9
"""Share of epochs spent alike from which choices are said to be very similar; the paper gives no figure."""
NEARLY = 0.95
"""Share of the allowed violation from which constraint (3) is said to be met with equality."""
ONE_EPOCH = 0.92
"""The least mean improvement of an epoch in Table I [loss]."""
HALF = 0.5
"""Share of epochs or of cost above which one model is said to be used, or paid for, most."""
_ROUNDING = 1e-9
_EPOCHS = "Epochs with fast-unsteady / intermediate / slow-steady"
_EVERYBODY = {OPTIMUM: "the optimum", **DEPL, **BEST_EXP}
_MODELS = (FAST, MIDDLE, SLOW)


def quantile_met_with_equality(evidence: Evidence) -> Findings:
    """Whether plans use up the violation that is allowed, or at least leave less than one epoch to spare."""
    readings = []
    for where, series in sources(evidence):
        for name, title in _EVERYBODY.items():
            used, slack = partial(_violation_used, name=name), partial(_slack, name=name)
            statement = f"{title}: at least {NEARLY:.0%} of the allowed probability is used, on {where}"
            shows = partial(operator.le, NEARLY)
            readings.append(_reading(statement, series, used, shows, "share used"))
            statement = f"{title}: the quantile is within one epoch's improvement of the target, on {where}"
            below = "loss below the target"
            readings.append(_reading(statement, series, slack, lambda loss: loss < ONE_EPOCH, below))
    return Findings(readings)


def lower_expected_loss(evidence: Evidence) -> Findings:
    """Whether plans of best-exp and of DepL expect a lower loss than the optimum does."""
    others = {**BEST_EXP, **DEPL}
    readings = []
    for where, series in sources(evidence):
        for name, title in others.items():
            ratio = partial(_expected_ratio, name=name)
            statement = f"{title} expects less than the optimum, on {where}"
            what = "expected loss over the optimum's"
            readings.append(_reading(statement, series, ratio, _below_one, what))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (one.name, point.target, *(_expected_ratio(point, name) for name in others))
        for one in families(evidence)
        for point in one.points
    )
    table = Table(("family", "target", *others.values()), rows)
    return Findings(readings, [Captioned("Expected loss over that of the optimum", table)])


def choices_like_the_optimum(evidence: Evidence) -> Findings:
    """How many epochs DepL spends with the same model as the optimum."""
    readings = []
    for where, series in sources(evidence):
        for name, title in DEPL.items():
            alike = partial(_overlap, name=name)
            statement = f"{title}: at least {SIMILAR:.0%} of the epochs alike, on {where}"
            shows = partial(operator.le, SIMILAR)
            readings.append(_reading(statement, series, alike, shows, "share alike"))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (one.name, point.target, *(_told(point.epochs(name)) for name in _EVERYBODY))
        for one in families(evidence)
        for point in one.points
    )
    return Findings(readings, [Captioned(_EPOCHS, Table(("family", "target", *_EVERYBODY.values()), rows))])


def intermediate_when_loose(evidence: Evidence) -> Findings:
    """Whether nothing but "intermediate" is used at the loosest target."""
    return _uses_at(
        evidence, -1, lambda used: set(used) == {MIDDLE}, "only intermediate at the loosest target"
    )


def all_models_when_tight(evidence: Evidence) -> Findings:
    """Whether all three models are used at the tightest target."""
    return _uses_at(evidence, 0, lambda used: set(used) == set(_MODELS), "all models at the tightest target")


def best_exp_uses_the_fast_model_most(evidence: Evidence) -> Findings:
    """Whether best-exp spends more than half of its epochs with "fast-unsteady"."""
    readings = []
    for where, series in sources(evidence):
        for name, title in BEST_EXP.items():
            share = partial(_fast_share, name=name)
            statement = f"{title}: most epochs are fast-unsteady, on {where}"
            shows = partial(operator.lt, HALF)
            readings.append(_reading(statement, series, share, shows, "share of epochs"))
    return Findings(readings)


def best_exp_needs_more_epochs(evidence: Evidence) -> Findings:
    """Whether best-exp runs more epochs than the optimum and than DepL."""
    return _best_exp_exceeds(evidence, _epochs_ratio, "runs more epochs than", "ratio of epochs")


def best_exp_has_wider_bands(evidence: Evidence) -> Findings:
    """Whether the final loss of best-exp has a wider band between its 1st and 99th percentile."""
    return _best_exp_exceeds(evidence, _band_ratio, "has a wider band than", "ratio of widths")


def best_exp_pays_for_the_fast_model(evidence: Evidence) -> Findings:
    """Whether best-exp is the most expensive, and more than half of its cost goes to "fast-unsteady"."""
    readings = list(_best_exp_exceeds(evidence, _cost_ratio, "costs more than", "ratio of costs").readings)
    for where, series in sources(evidence):
        for best, title in BEST_EXP.items():
            share = partial(_fast_share_of_cost, name=best)
            statement = f"{title}: most of the cost is for fast-unsteady, on {where}"
            shows = partial(operator.lt, HALF)
            readings.append(_reading(statement, series, share, shows, "share of cost"))
    return Findings(readings)


_COMPLETE = "What Table I leaves out (deadline, communication, decay, cost of switching) decides it."
CLAIMS = (
    Claim(
        "equality",
        "All strategies meet the quantile constraint (3) with equality.",
        "Sec. VI-B, Fig. 5, centre",
        "Epochs are whole, so equality can only be meant roughly, and how roughly is open.",
        quantile_met_with_equality,
        short="The quantile is met with equality",
        figures=("*-loss",),
    ),
    Claim(
        "lower-expected-loss",
        "best-exp and, to a much smaller extent, DepL yield a lower expected loss than the optimum.",
        "Sec. VI-B, Figs. 5 and 6, centre",
        _COMPLETE,
        lower_expected_loss,
        short="best-exp expects a lower loss",
        figures=("*-expected-loss",),
    ),
    Claim(
        "similar-choices",
        "DepL makes very similar choices of models to the optimum.",
        "Sec. VI-B, Fig. 7",
        _COMPLETE,
        choices_like_the_optimum,
        short="DepL chooses like the optimum",
        figures=("*-epochs",),
    ),
    Claim(
        "intermediate-when-loose",
        'When the target is loose, both DepL and the optimum use only the "intermediate" model.',
        "Sec. VI-B, Fig. 7",
        _COMPLETE,
        intermediate_when_loose,
        ("E13",),
        short="Only intermediate when loose",
        figures=("*-epochs",),
    ),
    Claim(
        "all-when-tight",
        "As the target gets tighter, switches become necessary and all models are used.",
        "Sec. VI-B, Fig. 7",
        _COMPLETE,
        all_models_when_tight,
        ("E13",),
        short="All models when tight",
        figures=("*-epochs",),
    ),
    Claim(
        "fast-most",
        'best-exp uses the "fast-unsteady" model as much as possible.',
        "Sec. VI-B, Fig. 7",
        "Which best-exp is meant is open.",
        best_exp_uses_the_fast_model_most,
        short="best-exp uses fast-unsteady most",
        figures=("*-epochs",),
    ),
    Claim(
        "more-epochs",
        "best-exp runs a higher number of epochs; the curves of DepL and of the optimum are shorter.",
        "Sec. VI-B, Figs. 7 and 9",
        "Which best-exp is meant is open, and " + _COMPLETE[0].lower() + _COMPLETE[1:],
        best_exp_needs_more_epochs,
        ("E13",),
        short="best-exp runs more epochs",
        figures=("*-epochs",),
    ),
    Claim(
        "fast-pays",
        'best-exp incurs the highest cost, and much of it is due to the "fast-unsteady" model.',
        "Sec. VI-B, Fig. 8",
        "Which best-exp and which DepL are meant is open.",
        best_exp_pays_for_the_fast_model,
        short="best-exp pays for fast-unsteady",
        figures=("*-cost-per-model",),
    ),
    Claim(
        "wider-bands",
        "best-exp has a larger distance between the 1st and the 99th percentile of the loss.",
        "Sec. VI-B, Fig. 9",
        "Which best-exp is meant is open.",
        best_exp_has_wider_bands,
        short="best-exp has wider loss bands",
        figures=("*-loss",),
    ),
)


def _reading(
    statement: str,
    series: Sequence[Series],
    figure: Callable[[Point], float | None],
    shows: Callable[[float], bool],
    what: str,
) -> Reading:
    """A reading whose cases are families; one shows it if it shows at every target that has the figure."""
    by_family = [[value for point in one.points if (value := figure(point)) is not None] for one in series]
    known = [values for values in by_family if values]
    every = [value for values in known for value in values]
    told = f"{what} {min(every):.3g} to {max(every):.3g}, median {np.median(every):.3g}" if every else ""
    shown = sum(all(map(shows, values)) for values in known)
    return Reading(statement, shown, len(known), told)


def _best_exp_exceeds(
    evidence: Evidence, ratio: Callable[[Point, str, str], float | None], words: str, what: str
) -> Findings:
    """Whether a figure of best-exp exceeds that of the optimum and of both DepL."""
    readings = []
    for where, series in sources(evidence):
        for best, title in BEST_EXP.items():
            for other in (OPTIMUM, *DEPL):
                figure = partial(_between, ratio=ratio, best=best, other=other)
                statement = f"{title} {words} {_EVERYBODY[other]}, on {where}"
                readings.append(_reading(statement, series, figure, _above_one, what))
    return Findings(readings)


def _between(
    point: Point, ratio: Callable[[Point, str, str], float | None], best: str, other: str
) -> float | None:
    return ratio(point, best, other)


def _uses_at(evidence: Evidence, place: int, shows: Callable[[dict[str, int]], bool], what: str) -> Findings:
    """Which models are used at one end of the targets, by the optimum and by DepL."""
    readings, rows = [], []
    for where, series in sources(evidence):
        for name, title in {OPTIMUM: "the optimum", **DEPL}.items():
            at_end = [(one.name, point) for one in series if (point := one.end(place))]
            used = [(family, epochs) for family, point in at_end if (epochs := point.epochs(name))]
            shown = sum(shows(epochs) for _, epochs in used)
            figures = f"{shown} of {len(used)} families"
            statement = f"{title}: {what}, on {where}"
            readings.append(Reading(statement, shown, len(used), figures))
            if where == FAMILIES:
                rows += [(family, title, _told(epochs)) for family, epochs in used]
    return Findings(readings, [Captioned(_EPOCHS, Table(("family", "plan of", "epochs"), tuple(rows)))])


def _above_one(ratio: float) -> bool:
    return ratio > 1 + _ROUNDING


def _below_one(ratio: float) -> bool:
    return ratio < 1 - _ROUNDING


def _violation_used(point: Point, name: str) -> float | None:
    """Certified probability of missing the target over the allowed one."""
    attempt, allowed = point.plan_of(name), point.measure(name, "violation_allowed")
    if attempt is None or attempt.violation is None or not allowed:
        return None
    return attempt.violation[1] / allowed


def _slack(point: Point, name: str) -> float | None:
    quantile = point.measure(name, "quantile")
    return None if quantile is None else point.target - quantile


def _expected_ratio(point: Point, name: str) -> float | None:
    return _over(point.measure(name, "expected_loss"), point.measure(OPTIMUM, "expected_loss"))


def _cost_ratio(point: Point, name: str, other: str) -> float | None:
    return _over(point.cost(name), point.cost(other))


def _epochs_ratio(point: Point, name: str, other: str) -> float | None:
    one, two = point.epochs(name), point.epochs(other)
    return None if one is None or two is None else _over(sum(one.values()), sum(two.values()))


def _band_ratio(point: Point, name: str, other: str) -> float | None:
    return _over(_band(point, name), _band(point, other))


def _band(point: Point, name: str) -> float | None:
    high, low = point.measure(name, "quantile"), point.measure(name, "quantile_low")
    return None if high is None or low is None else high - low


def _fast_share(point: Point, name: str) -> float | None:
    used = point.epochs(name)
    return None if not used else used.get(FAST, 0) / sum(used.values())


def _fast_share_of_cost(point: Point, name: str) -> float | None:
    return _over(point.measure(name, f"cost_of.{FAST}"), point.cost(name))


def _overlap(point: Point, name: str) -> float | None:
    """Share of epochs spent with the same model as the optimum, of the longer of the two plans."""
    one, other = point.epochs(name), point.epochs(OPTIMUM)
    if not one or not other:
        return None
    common = sum(min(count, other.get(model, 0)) for model, count in one.items())
    return common / max(sum(one.values()), sum(other.values()))


def _over(value: float | None, reference: float | None) -> float | None:
    return None if value is None or not reference else value / reference


def _told(epochs: dict[str, int] | None) -> str:
    return "no plan" if epochs is None else " / ".join(str(epochs.get(model, 0)) for model in _MODELS)
