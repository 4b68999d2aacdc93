"""Claims on what plans cost: over 27 % less than the state of the art, close to the optimum."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.series import (
    BEST_EXP,
    COMPLETIONS,
    DEPL,
    OPTIMUM,
    Point,
    Series,
    families,
    sources,
)
from depl.benchmarks.report.verdicts import Captioned, Claim, Findings, Reading

BETTER = 0.27
"""The abstract's "over 27%"."""
CLOSELY = 1.05
"""Mean cost over the optimum up to which plans are said to match it closely; the paper gives no figure."""
_NETWORKS = ("paper-alexnet", "paper-mobilenet")
_RANDOM = "random instances"
_COLUMNS = (
    "family",
    "DepL",
    "best-exp",
    "targets",
    "mean saving",
    "least saving",
    "greatest saving",
    "mean extra cost",
    "least extra cost",
    "greatest extra cost",
)


def over_27_percent(evidence: Evidence) -> Findings:
    """By how much DepL is cheaper than best-exp, relative to either of the two, mean over the targets."""
    readings = []
    for where, series in sources(evidence):
        for depl, depl_name in DEPL.items():
            for best, best_name in BEST_EXP.items():
                compared = [(one, _costs(one, depl, best)) for one in series]
                for base, relative in _BASES.items():
                    means = [
                        float(np.mean([relative(*pair) for pair in pairs])) for _, pairs in compared if pairs
                    ]
                    readings.append(
                        Reading(
                            f"{depl_name} against {best_name}, {base}, mean over the targets, on {where}",
                            sum(mean > BETTER for mean in means),
                            len(means),
                            _percent_range(means),
                        )
                    )
    return Findings(
        readings, [Captioned("Difference of DepL and best-exp by family", _savings(families(evidence)))]
    )


def matches_the_optimum(evidence: Evidence) -> Findings:
    """Whether DepL has a plan wherever there is one, at a mean cost close to the proved optimum."""
    readings, rows = [], []
    everything = [*sources(evidence), (_RANDOM, _random_series(evidence))]
    for depl, name in DEPL.items():
        for where, series in everything:
            shown, means = 0, []
            for one in series:
                ratios = [cost / best for _, cost, best in one.pairs(depl, OPTIMUM) if best]
                missed = sum(_misses(point, depl) for point in one.points)
                if not one.tried(depl) or not (ratios or missed):
                    continue
                mean = float(np.mean(ratios)) if ratios else None
                shown += missed == 0 and mean is not None and mean <= CLOSELY
                means.append(mean)
                if where != COMPLETIONS:
                    rows.append((one.name, name, len(ratios), missed, mean, max(ratios, default=None)))
            found = [mean for mean in means if mean is not None]
            figures = f"mean cost over the optimum {_range(found)}" if found else "no plan at all"
            readings.append(
                Reading(
                    f"{name}: a plan everywhere, at most 5 % above the optimum on average, on {where}",
                    shown,
                    len(means),
                    figures,
                )
            )
    columns = ("family", "DepL", "compared", "no plan", "mean cost / optimum", "largest cost / optimum")
    return Findings(readings, [Captioned("DepL beside the proved optimum", Table(columns, tuple(rows)))])


def tighter_costs_more(evidence: Evidence) -> Findings:
    """Whether of any two neighbouring targets of a family the tighter one costs more."""
    readings = []
    for where, series in sources(evidence):
        for name, title in {OPTIMUM: "the optimum", **DEPL, **BEST_EXP}.items():
            falls = [
                [tight > loose for (_, tight), (_, loose) in itertools.pairwise(_known(one, name))]
                for one in series
            ]
            steps = [step for own in falls for step in own]
            figures = f"{sum(steps)} of {len(steps)} pairs of neighbouring targets"
            shown = sum(all(own) for own in falls if own)
            statement = f"{title}: the tighter of two targets always costs more, on {where}"
            readings.append(Reading(statement, shown, sum(map(bool, falls)), figures))
    return Findings(readings)


def difference_largest_when_loose(evidence: Evidence) -> Findings:
    """Whether best-exp is farther from DepL at the looser targets than at the tighter ones."""
    readings = []
    bases: dict[str, Callable[[float, float], float]] = {
        "in units of cost": lambda depl, best: best - depl,
        "relative to DepL": lambda depl, best: best / depl - 1,
    }
    for where, series in sources(evidence):
        for depl, depl_name in DEPL.items():
            for best, best_name in BEST_EXP.items():
                for base, distance in bases.items():
                    halves = [
                        _halves([distance(*pair) for pair in _costs(one, depl, best)]) for one in series
                    ]
                    known = [pair for pair in halves if pair is not None]
                    shown = sum(loose > tight for tight, loose in known)
                    readings.append(
                        Reading(
                            f"{depl_name} and {best_name}, {base}, on {where}",
                            shown,
                            len(known),
                            f"larger in the looser half of the targets in {shown} of {len(known)} families",
                        )
                    )
    return Findings(readings)


def mobilenet_is_cheaper(evidence: Evidence) -> Findings:
    """Whether MobileNet costs less than AlexNet at the same target."""
    readings = []
    for title, alexnet, mobilenet in _networks(evidence):
        both = sorted(set(alexnet) & set(mobilenet))
        shown = sum(mobilenet[target] < alexnet[target] for target in both)
        listed = ", ".join(
            f"{mobilenet[target]:.4g} against {alexnet[target]:.4g} at {target:g}" for target in both
        )
        statement = f"{title}: cheaper at the same target"
        readings.append(Reading(statement, shown, len(both), listed))
    return Findings(readings)


def mobilenet_is_steeper(evidence: Evidence) -> Findings:
    """Whether the cost of MobileNet falls faster with the target, in units of cost and in percent."""
    readings = []
    measured_at_ends = _at_ends(evidence)
    for title, alexnet, mobilenet in _networks(evidence):
        both = sorted(set(alexnet) & set(mobilenet)) if measured_at_ends else []
        ends = [both[0], both[-1]] if both else []
        for base in ("in units of cost", "relative to the cost at the tightest target"):
            falls = (
                [_fall(costs, ends, base.startswith("relative")) for costs in (alexnet, mobilenet)]
                if ends
                else []
            )
            measured = f"falls by {falls[1]:.4g} against {falls[0]:.4g}" if falls else ""
            shown = bool(falls) and falls[1] > falls[0] * (1 + 1e-9)
            statement = f"{title}, {base}: MobileNet falls more"
            readings.append(Reading(statement, int(shown), int(bool(falls)), measured))
    return Findings(readings)


CLAIMS = (
    Claim(
        "over-27-percent",
        "DepL outperforms the state of the art, best-exp, by over 27\u00a0%.",
        "Abstract; Figs. 5 and 6, left",
        "Which best-exp, which DepL, relative to which cost, and what Table I leaves out: all open.",
        over_27_percent,
        ("E13",),
        short="Over 27\u00a0% cheaper than best-exp",
        figures=("*-cost",),
    ),
    Claim(
        "closely-matches",
        "DepL closely, virtually always, matches the optimum.",
        "Abstract; Sec. VI-B, Figs. 5 and 6, left",
        "How the stages are to be read, and the data that Table I leaves out, decide it.",
        matches_the_optimum,
        ("E12", "E13"),
        short="DepL matches the optimum",
        figures=(
            "*-cost",
            "paper-profiles",
            "reconstruction-profiles",
        ),
    ),
    Claim(
        "tighter-costs-more",
        "Tighter requirements on the loss need more training, hence cost more.",
        "Sec. VI-B, Fig. 5, left",
        "Which best-exp is meant is open.",
        tighter_costs_more,
        short="Tighter targets cost more",
        figures=("*-cost",),
    ),
    Claim(
        "largest-when-loose",
        "The difference between DepL and best-exp is especially large when the requirements are less strict.",
        "Sec. VI-B, Fig. 5, left",
        "Differences in units of cost and in percent are not told apart.",
        difference_largest_when_loose,
        ("E13",),
        short="Largest saving at loose targets",
        figures=("*-cost",),
    ),
    Claim(
        "mobilenet-cheaper",
        "With MobileNet costs tend to be lower than with AlexNet.",
        "Sec. VI-B, Fig. 6",
        "",
        mobilenet_is_cheaper,
        short="MobileNet costs less",
        figures=(
            "paper-alexnet-cost",
            "paper-mobilenet-cost",
        ),
    ),
    Claim(
        "mobilenet-steeper",
        "MobileNet's costs fall more steeply as the target is loosened: it struggles more with harder tasks.",
        "Sec. VI-B, Fig. 6",
        "Steeper in units of cost or in percent is open.",
        mobilenet_is_steeper,
        short="MobileNet's costs fall faster",
        figures=(
            "paper-alexnet-cost",
            "paper-mobilenet-cost",
        ),
    ),
)

_BASES: dict[str, Callable[[float, float], float]] = {
    "saving relative to best-exp": lambda depl, best: 1 - depl / best,
    "extra cost of best-exp relative to DepL": lambda depl, best: best / depl - 1,
}


def _random_series(evidence: Evidence) -> list[Series]:
    """All random instances as the points of one series, so that their mean is one case."""
    grouped: dict[str, list[Point]] = {}
    for place, attempt in enumerate(evidence.suite("random")):
        known = {attempt.task.configuration: attempt}
        point = Point("random", float(place), evidence.optimum(attempt), known)
        grouped.setdefault(attempt.task.configuration, []).append(point)
    return [Series("random instances", tuple(points)) for points in grouped.values()]


def _costs(series: Series, depl: str, best: str) -> list[tuple[float, float]]:
    return [(one, other) for _, one, other in series.pairs(depl, best) if one > 0 and other > 0]


def _misses(point: Point, name: str) -> bool:
    """Whether there is a plan, and a configuration that was run found none."""
    attempt = point.attempts.get(name)
    return (
        point.optimum is not None
        and attempt is not None
        and attempt.cost is None
        and attempt.ending != "refused"
    )


def _known(series: Series, name: str) -> list[tuple[float, float]]:
    found = [(point.target, point.cost(name)) for point in series.points]
    return [(target, cost) for target, cost in found if cost is not None]


def _halves(distances: Sequence[float]) -> tuple[float, float] | None:
    """Means over the tighter and over the looser half of the targets; a middle one belongs to neither."""
    half = len(distances) // 2
    return (float(np.mean(distances[:half])), float(np.mean(distances[-half:]))) if half else None


def _at_ends(evidence: Evidence) -> bool:
    """Whether both networks were measured at their tightest and loosest target."""
    own = [one for one in families(evidence) if one.name in _NETWORKS]
    return all(one.end(place) is not None for one in own for place in (0, -1))


def _networks(evidence: Evidence) -> list[tuple[str, dict[float, float], dict[float, float]]]:
    by_name = {series.name: series for series in families(evidence)}
    found = []
    for name, title in {OPTIMUM: "the optimum", **DEPL, **BEST_EXP}.items():
        costs = [dict(_known(by_name[key], name)) if key in by_name else {} for key in _NETWORKS]
        found.append((title, costs[0], costs[1]))
    return found


def _fall(costs: dict[float, float], ends: Sequence[float], relative: bool) -> float:
    fall = costs[ends[0]] - costs[ends[1]]
    return fall / costs[ends[0]] if relative else fall


def _savings(series: Sequence[Series]) -> Table:
    rows = []
    for one in series:
        for depl, depl_name in DEPL.items():
            for best, best_name in BEST_EXP.items():
                pairs = _costs(one, depl, best)
                spread = [_spread([relative(*pair) for pair in pairs]) for relative in _BASES.values()]
                rows.append((one.name, depl_name, best_name, len(pairs), *spread[0], *spread[1]))
    return Table(_COLUMNS, tuple(rows))


def _spread(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    return (float(np.mean(values)), min(values), max(values)) if values else (None, None, None)


def _percent_range(values: Sequence[float]) -> str:
    return f"means from {min(values):.1%} to {max(values):.1%}" if values else ""


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.4g}" if len(values) == 1 else f"from {min(values):.4g} to {max(values):.4g}"
