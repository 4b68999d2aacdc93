"""Claims on what plans do: which models for how many epochs, what loss they expect, how wide its band is."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.series import (
    BEST_EXP,
    DEPL,
    FAST,
    MIDDLE,
    OPTIMUM,
    SLOW,
    Point,
    Series,
    completions,
    families,
)
from depl.benchmarks.report.verdicts import Captioned, Claim, Findings, Reading

SIMILAR = 0.9
"""Share of epochs spent alike from which choices are said to be very similar; the paper gives no figure."""
NEARLY = 0.95
"""Share of the allowed violation from which constraint (3) is said to be met with equality."""
ONE_EPOCH = 0.92
"""The least mean improvement of an epoch in Table I [loss]."""
_EVERYBODY = {OPTIMUM: "the optimum", **DEPL, **BEST_EXP}
_MODELS = (FAST, MIDDLE, SLOW)


def quantile_met_with_equality(evidence: Evidence) -> Findings:
    """Whether plans use up the violation that is allowed, or at least leave less than one epoch to spare."""
    readings = []
    for name, title in _EVERYBODY.items():
        used = [share for point in _points(evidence) if (share := _violation_used(point, name)) is not None]
        slack = [
            point.target - quantile
            for point in _points(evidence)
            if (quantile := point.measure(name, "quantile")) is not None
        ]
        readings.append(
            Reading(
                f"{title}: at least {NEARLY:.0%} of the allowed probability is used",
                sum(share >= NEARLY for share in used),
                len(used),
                f"median share used {np.median(used):.0%}" if used else "",
            )
        )
        readings.append(
            Reading(
                f"{title}: the quantile is within one epoch's improvement of the target",
                sum(value < ONE_EPOCH for value in slack),
                len(slack),
                f"{min(slack):.3g} to {max(slack):.3g} below the target" if slack else "",
            )
        )
    return Findings(readings)


def lower_expected_loss(evidence: Evidence) -> Findings:
    """Whether plans of best-exp and of DepL expect a lower loss than the optimum does."""
    readings, rows = [], []
    for name, title in {**BEST_EXP, **DEPL}.items():
        normalised = []
        for point in _points(evidence):
            own, best = (point.measure(who, "expected_loss") for who in (name, OPTIMUM))
            if own is not None and best:
                normalised.append(own / best)
                rows.append((point.series, point.target, title, own, best, own / best))
        figures = (
            f"expected loss over the optimum's: median {np.median(normalised):.3f}" if normalised else ""
        )
        shown = sum(value < 1 - 1e-9 for value in normalised)
        readings.append(Reading(f"{title} expects less than the optimum", shown, len(normalised), figures))
    columns = ("family", "target", "method", "expected loss", "expected loss of the optimum", "normalised")
    return Findings(
        readings, [Captioned("Expected loss, normalised to the optimum", Table(columns, tuple(rows)))]
    )


def choices_like_the_optimum(evidence: Evidence) -> Findings:
    """How many epochs DepL spends with the same model as the optimum."""
    readings, rows = [], []
    for name, title in DEPL.items():
        alike = []
        for point in _points(evidence):
            own, best = point.epochs(name), point.epochs(OPTIMUM)
            if own is not None and best is not None:
                alike.append(_overlap(own, best))
                rows.append((point.series, point.target, title, _told(own), _told(best), alike[-1]))
        figures = f"mean share of epochs spent alike {np.mean(alike):.0%}" if alike else ""
        shown = sum(share >= SIMILAR for share in alike)
        readings.append(
            Reading(f"{title}: at least {SIMILAR:.0%} of the epochs alike", shown, len(alike), figures)
        )
    columns = ("family", "target", "DepL", "its epochs", "epochs of the optimum", "share alike")
    caption = "Epochs with fast-unsteady / intermediate / slow-steady"
    return Findings(readings, [Captioned(caption, Table(columns, tuple(rows)))])


def intermediate_when_loose(evidence: Evidence) -> Findings:
    """Whether nothing but "intermediate" is used at the loosest target."""
    return _uses_at(
        evidence, -1, lambda used: set(used) == {MIDDLE}, "only intermediate at the loosest target"
    )


def all_models_when_tight(evidence: Evidence) -> Findings:
    """Whether all three models are used at the tightest target."""
    return _uses_at(evidence, 0, lambda used: set(used) == set(_MODELS), "all models at the tightest target")


def best_exp_uses_the_fast_model_most(evidence: Evidence) -> Findings:
    """Whether best-exp spends more epochs with "fast-unsteady" than with any other model."""
    readings = []
    for where, points in _everywhere(evidence):
        for name, title in BEST_EXP.items():
            plans = [used for point in points if (used := point.epochs(name))]
            shares = [used.get(FAST, 0) / sum(used.values()) for used in plans]
            shown = sum(used.get(FAST, 0) == max(used.values()) for used in plans)
            figures = f"mean share of epochs {np.mean(shares):.0%}" if shares else ""
            readings.append(
                Reading(f"{title}: most epochs are fast-unsteady, on {where}", shown, len(plans), figures)
            )
    return Findings(readings)


def best_exp_needs_more_epochs(evidence: Evidence) -> Findings:
    """Whether best-exp runs more epochs than the optimum and than DepL."""
    readings = []
    for where, points in _everywhere(evidence):
        for best, best_name in BEST_EXP.items():
            for other in (OPTIMUM, *DEPL):
                pairs = [
                    (sum(first.values()), sum(second.values()))
                    for point in points
                    if (first := point.epochs(best)) is not None
                    and (second := point.epochs(other)) is not None
                ]
                ratio = f"mean ratio of epochs {np.mean([a / b for a, b in pairs if b]):.3f}" if pairs else ""
                shown = sum(first > second for first, second in pairs)
                statement = f"{best_name} runs more epochs than {_EVERYBODY[other]}, on {where}"
                readings.append(Reading(statement, shown, len(pairs), ratio))
    return Findings(readings)


def best_exp_pays_for_the_fast_model(evidence: Evidence) -> Findings:
    """Whether best-exp is dearest, and more than half of its cost goes to "fast-unsteady"."""
    readings = []
    for best, title in BEST_EXP.items():
        dearest, shares = [], []
        for point in _points(evidence):
            own = point.cost(best)
            others = [cost for name in (OPTIMUM, *DEPL) if (cost := point.cost(name)) is not None]
            if own is not None and others:
                dearest.append(own > max(others) * (1 + 1e-9))
            share = point.measure(best, f"cost_of.{FAST}")
            if own and share is not None:
                shares.append(share / own)
        readings.append(
            Reading(
                f"{title} costs more than the optimum and both DepL", sum(dearest), len(dearest), _of(dearest)
            )
        )
        figures = f"mean share of cost {np.mean(shares):.0%}" if shares else ""
        statement = f"{title}: more than half of the cost is for fast-unsteady"
        readings.append(Reading(statement, sum(share > 0.5 for share in shares), len(shares), figures))
    return Findings(readings)


def best_exp_has_wider_bands(evidence: Evidence) -> Findings:
    """Whether the final loss of best-exp has a wider band between its 1st and 99th percentile."""
    readings = []
    for best, title in BEST_EXP.items():
        for other in (OPTIMUM, *DEPL):
            ratios = [
                own / reference
                for point in _points(evidence)
                if (own := _band(point, best)) is not None and (reference := _band(point, other))
            ]
            figures = f"mean ratio of widths {np.mean(ratios):.3f}" if ratios else ""
            shown = sum(ratio > 1 + 1e-9 for ratio in ratios)
            readings.append(Reading(f"{title}: wider than {_EVERYBODY[other]}", shown, len(ratios), figures))
    return Findings(readings)


_COMPLETE = "What Table I leaves out (deadline, communication, decay, cost of switching) decides it."
CLAIMS = (
    Claim(
        "equality",
        "All strategies meet the quantile constraint (3) with equality.",
        "Sec. VI-B, Fig. 5, centre",
        "Epochs are whole, so equality can only be meant roughly, and how roughly is open.",
        quantile_met_with_equality,
    ),
    Claim(
        "lower-expected-loss",
        "best-exp and, to a much smaller extent, DepL yield a lower expected loss than the optimum.",
        "Sec. VI-B, Figs. 5 and 6, centre",
        _COMPLETE,
        lower_expected_loss,
    ),
    Claim(
        "similar-choices",
        "DepL makes very similar choices of models to the optimum.",
        "Sec. VI-B, Fig. 7",
        _COMPLETE,
        choices_like_the_optimum,
    ),
    Claim(
        "intermediate-when-loose",
        'When the target is loose, both DepL and the optimum use only the "intermediate" model.',
        "Sec. VI-B, Fig. 7",
        _COMPLETE,
        intermediate_when_loose,
        ("E13",),
    ),
    Claim(
        "all-when-tight",
        "As the target gets tighter, switches become necessary and all models are used.",
        "Sec. VI-B, Fig. 7",
        _COMPLETE,
        all_models_when_tight,
        ("E13",),
    ),
    Claim(
        "fast-most",
        'best-exp uses the "fast-unsteady" model as much as possible.',
        "Sec. VI-B, Fig. 7",
        "Which best-exp is meant is open.",
        best_exp_uses_the_fast_model_most,
    ),
    Claim(
        "more-epochs",
        "best-exp runs a higher number of epochs; the curves of DepL and of the optimum are shorter.",
        "Sec. VI-B, Figs. 7 and 9",
        "Which best-exp is meant is open, and " + _COMPLETE[0].lower() + _COMPLETE[1:],
        best_exp_needs_more_epochs,
        ("E13",),
    ),
    Claim(
        "fast-pays",
        'best-exp incurs the highest cost, and much of it is due to the "fast-unsteady" model.',
        "Sec. VI-B, Fig. 8",
        "Which best-exp and which DepL are meant is open.",
        best_exp_pays_for_the_fast_model,
    ),
    Claim(
        "wider-bands",
        "best-exp has a larger distance between the 1st and the 99th percentile of the loss.",
        "Sec. VI-B, Fig. 9",
        "Which best-exp is meant is open.",
        best_exp_has_wider_bands,
    ),
)


def _points(evidence: Evidence) -> list[Point]:
    return [point for series in families(evidence) for point in series.points]


def _everywhere(evidence: Evidence) -> Iterator[tuple[str, list[Point]]]:
    yield "the shipped instances", _points(evidence)
    yield "the completions of Table I", [point for one in completions(evidence) for point in one.points]


def _uses_at(evidence: Evidence, place: int, shows: Callable[[dict[str, int]], bool], what: str) -> Findings:
    """Which models are used at one end of the targets, by the optimum and by DepL."""
    readings, rows = [], []
    sources: list[tuple[str, Sequence[Series]]] = [
        ("the shipped instances", families(evidence)),
        ("the completions of Table I", completions(evidence)),
    ]
    for where, series in sources:
        for name, title in {OPTIMUM: "the optimum", **DEPL}.items():
            used = [(one.name, epochs) for one in series if (epochs := one.points[place].epochs(name))]
            shown = sum(shows(epochs) for _, epochs in used)
            figures = f"{shown} of {len(used)} families"
            readings.append(Reading(f"{title}: {what}, on {where}", shown, len(used), figures))
            if where == "the shipped instances":
                rows += [(family, title, _told(epochs)) for family, epochs in used]
    caption = "Epochs with fast-unsteady / intermediate / slow-steady"
    return Findings(readings, [Captioned(caption, Table(("family", "plan of", "epochs"), tuple(rows)))])


def _violation_used(point: Point, name: str) -> float | None:
    """Certified probability of missing the target over the allowed one."""
    attempt, allowed = point.plan_of(name), point.measure(name, "violation_allowed")
    if attempt is None or attempt.violation is None or not allowed:
        return None
    return attempt.violation[1] / allowed


def _overlap(one: dict[str, int], other: dict[str, int]) -> float:
    longest = max(sum(one.values()), sum(other.values()))
    common = sum(min(count, other.get(model, 0)) for model, count in one.items())
    return common / longest if longest else 1.0


def _band(point: Point, name: str) -> float | None:
    high, low = point.measure(name, "quantile"), point.measure(name, "quantile_low")
    return None if high is None or low is None else high - low


def _told(epochs: dict[str, int]) -> str:
    return " / ".join(str(epochs.get(model, 0)) for model in _MODELS)


def _of(flags: Sequence[bool]) -> str:
    return f"{sum(flags)} of {len(flags)} targets"
