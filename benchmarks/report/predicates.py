"""What a reading of a claim asks: ten predicates, each of which counts its cases and tells the figures.

`in_families` and `networks` read the points of a suite, `on_record` and `none_wrong` a record, the others the
attempts of a suite. Names are those of configurations.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from depl.benchmarks.analysis.growth import growths
from depl.benchmarks.analysis.reference import Frame
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.report.evidence import OPTIMUM, SHIPPED, Evidence, Point, over
from depl.benchmarks.suites.stage_orders import ORDERS
from depl.models.foundation.wording import percentage

SIZES = {
    **{f"scaling-{name}": name for name in ("datasets", "models", "epochs", "clusters", "scenarios")},
    "paper-eta": "eta",
}
"""What each suite that varies one size varies: a label of its instances, or an option of its methods."""
ROUNDING = 1e-9


class Ruling(Enum):
    """What measurements say of a claim under a reading."""

    HOLDS = "holds"  # in all cases
    PARTLY = "holds in part"  # in some cases, and the reading is not about all
    FAILS = "fails"  # in no case, or not in all where the reading is about all
    UNMEASURED = "not measured"  # the results at hand have no case


class Found(NamedTuple):
    """In how many of the cases a reading shows, the figures behind it, and whether it is about all cases.

    A reading about all cases is refuted by one that does not show it; others then hold in part.
    """

    shown: int
    cases: int
    measured: str = ""
    always: bool = False

    @property
    def ruling(self) -> Ruling:
        """The verdict that follows."""
        if not self.cases:
            return Ruling.UNMEASURED
        if self.shown == self.cases:
            return Ruling.HOLDS
        return Ruling.FAILS if self.always or not self.shown else Ruling.PARTLY

    @property
    def words(self) -> str:
        """In how many cases it shows, and the figures."""
        return f"{self.shown} of {self.cases}" + (f": {self.measured}" if self.measured else "")


class Asked(NamedTuple):
    """Of what a reading is asked: the evidence, a suite or record, and the configurations."""

    evidence: Evidence
    of: str
    names: tuple[str, ...]


Predicate = Callable[[Asked], Found]
Told = Callable[[Sequence[Sequence[float]]], str]
Figure = Callable[..., float]
Where = Mapping[str, tuple[str, ...]]
"""What rows of a record hold, by key."""
Curve = Sequence[tuple[int, float, float]]
"""By levels eta, from the fewest on: cost over the optimum, and seconds; not a number where unknown."""


def _asked(function: Callable[..., Found]) -> Callable[..., Predicate]:
    """A predicate from a function that takes first of what is asked, and then what else it needs."""
    return lambda *given, **named: lambda asked: function(asked, *given, **named)


@_asked
def in_families(
    asked: Asked,
    values: Callable[..., list[Any]],
    shows: Callable[[list[Any]], Any],
    told: Told = lambda _: "",
) -> Found:
    """The values of a family at its targets show the claim; of families that have a value at some target."""
    evidence, suite, names = asked
    known = [own for points in evidence.families[suite].values() if (own := values(points, *names))]
    return Found(sum(bool(shows(own)) for own in known), len(known), told(known) if known else "")


@_asked
def networks(asked: Asked, at_ends: bool = False) -> Found:
    """MobileNet costs less than AlexNet at the same target, or falls more between the ends of the targets."""
    evidence, suite, names = asked
    families = [evidence.families[suite].get(name, []) for name in _NETWORKS]
    large, small = ({at.target: at.of(names[0], "cost") for at in points} for points in families)
    both = [(target, large[target], small.get(target, np.nan)) for target in large]
    pairs = [known for known in both if not np.isnan(known).any()]
    if not at_ends:
        listed = [f"{two:.4g} against {one:.4g} at {target:g}" for target, one, two in pairs]
        return Found(sum(two < one for _, one, two in pairs), len(pairs), ", ".join(listed))
    if not pairs or not all(points[place].ends[place] for points in families for place in (0, -1)):
        return Found(0, 0)
    one, two = (pairs[0][place] - pairs[-1][place] for place in (1, 2))
    return Found(int(two > one * (1 + ROUNDING)), 1, f"falls by {two:.4g} against {one:.4g}")


@_asked
def on_record(
    asked: Asked,
    shows: Callable[[Mapping[str, Any]], Iterable[bool]],
    told: str | Callable[[Mapping[str, Any]], str] = "",
    rows: str = "",
    where: Where = MappingProxyType({}),
) -> Found:
    """The values of a record show the claim, or those of its rows that ``where`` selects."""
    values = asked.evidence.values(asked.of)
    held = [(row, list(shows(row))) for row in _rows(values, rows, where)]
    cases = [case for _, own in held for case in own]
    words = [told.format(**row) if isinstance(told, str) else told(row) for row, _ in held]
    return Found(sum(cases), len(cases), "; ".join(filter(None, words)))


@_asked
def none_wrong(
    asked: Asked,
    number: str,
    wrong: str,
    told: str,
    rows: str = "",
    where: Where = MappingProxyType({}),
    right: bool = False,
) -> Found:
    """Of so many cases of a record none is counted as wrong, or all are counted as ``right``."""
    values = asked.evidence.values(asked.of)
    chosen = _rows(values, rows, where)
    cases, counted = (sum(int(row.get(key, 0)) for row in chosen) for key in (number, wrong))
    words = told.format(wrong=counted, number=cases, **values) if cases else ""
    return Found(counted if right else cases - counted, cases, words, always=True)


@_asked
def works_poorly(asked: Asked, factor: float) -> Found:
    """A heuristic's mean cost over the optimum exceeds the factor, or it misses one of ten instances."""
    own = _tried(asked, asked.of)
    own = own[own["feasible"]]
    if own.empty:
        return Found(0, 0)
    mean, missed = own["ratio"].mean(), own["cost"].isna().mean()
    unknown = np.isnan(mean)
    told = f"mean cost over the optimum {'unknown' if unknown else f'{mean:.4g}'}, "
    shown = unknown or mean > factor or missed > 0.1
    return Found(int(shown), 1, f"{told}no plan for {percentage(missed, 2)}")


@_asked
def loses_more_often(asked: Asked) -> Found:
    """One configuration is more expensive than another on more instances than it is cheaper."""
    rows = asked.evidence.suite(asked.of)
    costs = rows.pivot_table("cost", "instance", "configuration", "first").reindex(columns=asked.names)
    both = costs.dropna()
    one, other = (both[name] for name in asked.names)
    costlier, cheaper = ((more > less * (1 + 1e-6)).sum() for more, less in ((one, other), (other, one)))
    told = f"more expensive on {costlier}, cheaper on {cheaper} of {len(both)} that both solve"
    return Found(int(costlier > cheaper), int(len(both) > 0), told)


@_asked
def grows_no_faster(asked: Asked, power: float) -> Found:
    """The exponent of seconds against the size of a suite is not above the power, by its 95 % interval."""
    rows = asked.evidence.suite(asked.of)
    for item in growths(list(rows["attempt"][rows["method"] == asked.names[0]]), SIZES):
        if item.measure == "wall_seconds" and item.line is not None:
            exponent, lower, upper = item.line[:3]
            told = f"exponent {exponent:.2f}, 95 % interval {lower:.2f} to {upper:.2f}"
            return Found(int(lower <= power), 1, told)
    return Found(0, 0)


@_asked
def within_ratio(asked: Asked, bound: float) -> Found:
    """Every cost over a proved optimum is within the bound; an instance without a plan has no finite one."""
    own = _tried(asked, *asked.of.split())
    ratios, missed = own["ratio"].dropna(), own["unserved"].sum()
    cases = len(ratios) + missed
    told = f"largest cost over the optimum {max(ratios, default=0):.4g}, "
    told += f"no plan for {missed} of {cases} instances"
    inside = (ratios <= bound * (1 + ROUNDING)).sum()
    return Found(int(inside), int(cases), told if cases else "", always=True)


@_asked
def of_levels(
    asked: Asked, shows: Callable[[Curve], list[bool]], told: Callable[[Sequence[Curve]], str] = lambda _: ""
) -> Found:
    """What a method's cost and time do with the levels eta, by instance."""
    rows = _tried(asked, asked.of, by="method")
    rows = rows.assign(eta=rows["settings"].map(lambda own: own.get("options", {}).get("eta")))
    rows = rows.dropna(subset=["eta"]).sort_values("eta", kind="stable")
    curves = [
        list(zip(own["eta"].astype(int), own["ratio"], own["wall_seconds"], strict=True))
        for _, own in rows.groupby("instance", sort=False)
    ]
    steps = [step for curve in curves for step in shows(curve)]
    return Found(sum(steps), len(steps), told(curves) if steps else "")


@_asked
def no_other_order_is_lower(asked: Asked, what: str, errors: bool) -> Found:
    """No other order of the stages has a lower mean of a figure, each over the instances that both have."""
    rows = asked.evidence.suite(asked.of)
    rows = rows[rows["labels"].map(lambda own: (own.get("error", 0.0) > 0) is errors).astype(bool)]
    rows = rows.assign(
        order=rows["settings"].map(lambda own: own.get("options", {}).get("order")),
        figure=rows["attempt"].map(ORDER_FIGURES[what]).astype(float),
    )
    known = rows.pivot_table("figure", ["instance", "seed"], "order", "first", sort=False)
    told, shown = [], 0
    for order in known.columns.difference([ORDERS[0]], sort=False) if ORDERS[0] in known else ():
        own, other = known[[ORDERS[0], order]].dropna().mean()
        if not np.isnan(own):
            shown += bool(own <= other * (1 + ROUNDING))
            told.append(f"{own:.4g} against {other:.4g} of {order}")
    return Found(shown, len(told), "; ".join(told), always=True)


# Values of families, and how they are told -----------------------------------------------------------------


def every(figure: str, shows: Callable[[float], bool]) -> Predicate:
    """A figure of the plans, or its ratio to that of another, shows the claim at every target of a family."""

    def value(point: Point, name: str, *others: str) -> float:
        if figure == "overlap":
            return _overlap(point, name)
        # The expected loss of one configuration is told over that of the optimum.
        reference = others or ((OPTIMUM,) if figure == "expected loss" else ())
        return over(point.of(name, figure), point.of(reference[0], figure) if reference else 1.0)

    def told(families: Sequence[Sequence[float]]) -> str:
        known = [one for own in families for one in own]
        return f"{FIGURES[figure]} {min(known):.3g} to {max(known):.3g}, median {np.median(known):.3g}"

    return in_families(at_targets(value), lambda own: all(map(shows, own)), told)


FIGURES = {
    "violation": "share used",
    "expected loss": "expected loss over the optimum's",
    "overlap": "share alike",
    "fast epochs": "share of epochs",
    "fast cost": "share of cost",
    "epochs": "ratio of epochs",
    "cost": "ratio of costs",
    "band": "ratio of widths",
}
"""What is told of plans at a target."""


def at_targets(figure: Figure) -> Callable[..., list[float]]:
    """The figure at every target that has it."""
    return lambda points, *names: [value for at in points if not np.isnan(value := figure(at, *names))]


def uses_at(place: int, *models: str) -> Predicate:
    """Exactly these models are used at the tightest (0) or loosest (-1) target that the suite has."""

    def used(points: Sequence[Point], name: str) -> list[set[str]]:
        return [set(own) for at in points if at.ends[place] and (own := at.models.get(name))]

    return in_families(used, [set(models)].__eq__)


def _told_ratios(families: Sequence[Sequence[float]]) -> str:
    """Mean costs over the optimum of what has a plan."""
    held = [[value for value in own if value < np.inf] for own in families]
    means = [float(np.mean(own)) for own in held if own]
    if len(means) < 2:
        return f"mean cost over the optimum {means[0]:.4g}" if means else "no plan at all"
    return f"mean cost over the optimum from {min(means):.4g} to {max(means):.4g}"


def cheaper_by(share: float, base: str) -> Predicate:
    """One configuration costs less than another by more than that share, mean over the targets."""

    def told(families: Sequence[Sequence[float]]) -> str:
        means = [float(np.mean(own)) for own in families]
        return f"means from {min(means):.1%} to {max(means):.1%}"

    return in_families(_differences(base), lambda own: np.mean(own) > share, told)


def ratio_at_most(limit: float) -> Predicate:
    """A plan wherever there is one, at a mean cost over the proved optimum up to the limit."""
    ratios = at_targets(lambda point, name: point.of(name, "ratio"))
    return in_families(ratios, lambda own: np.mean(own) <= limit, _told_ratios)


def always_rises() -> Predicate:
    """Of any two neighbouring targets of a family the tighter one costs more."""

    def steps(points: Sequence[Point], name: str) -> list[float]:
        costs = at_targets(lambda point: point.of(name, "cost"))(points)
        return [float(tight > loose) for tight, loose in pairwise(costs)]

    def told(families: Sequence[Sequence[float]]) -> str:
        every = [step for own in families for step in own]
        return f"{sum(every):g} of {len(every)} pairs of neighbouring targets"

    return in_families(steps, all, told)


def larger_when_loose(base: str) -> Predicate:
    """Costs differ more in the looser half of the targets than in the tighter; a middle one is in neither."""

    def halves(points: Sequence[Point], depl: str, best: str) -> list[float]:
        known = _differences(base)(points, depl, best)
        half = len(known) // 2
        return [float(np.mean(known[-half:]) - np.mean(known[:half]))] if half else []

    return in_families(halves, lambda own: own[0] > 0)


def _differences(base: str) -> Callable[..., list[float]]:
    """What best-exp costs more than DepL at every target, in one of the units of `BASES`."""

    def figure(point: Point, depl: str, best: str) -> float:
        one, other = point.of(depl, "cost"), point.of(best, "cost")
        return BASES[base](one, other) if min(one, other) > 0 else np.nan

    return at_targets(figure)


BASES: Mapping[str, Callable[[float, float], float]] = {
    "saving relative to best-exp": lambda depl, best: 1 - depl / best,
    "extra cost of best-exp relative to DepL": lambda depl, best: best / depl - 1,
    "in units of cost": lambda depl, best: best - depl,
    "relative to DepL": lambda depl, best: best / depl - 1,
}


def _overlap(point: Point, name: str) -> float:
    """Share of epochs spent with the same model as the optimum, of the longer of the two plans."""
    one, other = (point.models.get(own, {}) for own in (name, OPTIMUM))
    common = sum(min(count, other.get(model, 0)) for model, count in one.items())
    return common / max(sum(one.values()), sum(other.values())) if one and other else np.nan


def _broken(attempt: Attempt) -> float | None:
    delivered, allowed = (attempt.measures.get(key) for key in ("delivered", "violation_allowed"))
    return None if delivered is None or allowed is None else float(1 - delivered > allowed * (1 + ROUNDING))


ORDER_FIGURES: Mapping[str, Callable[[Attempt], float | None]] = {
    "mean cost where both have plans": lambda item: (
        None if item.cost is None else item.measures.get("true_cost", item.cost)
    ),
    "share of instances without a plan": lambda item: (
        None if item.ending == "refused" else float(item.cost is None)
    ),
    "share of promises broken under the true law": _broken,
}
"""By what an order of the stages is judged."""
_NETWORKS = (f"{SHIPPED}-alexnet", f"{SHIPPED}-mobilenet")


def _tried(asked: Asked, *suites: str, by: str = "configuration") -> Frame:
    """The rows of what a configuration or method was asked in some suites, and did not refuse."""
    rows = asked.evidence.trials
    return rows[rows["suite"].isin(suites) & (rows[by] == asked.names[0]) & (rows["ending"] != "refused")]


def _rows(values: Mapping[str, Any], rows: str, where: Where) -> list[Mapping[str, Any]]:
    """Those of a record that are asked for, or the record itself; nothing without a record."""
    found = values.get(rows, []) if rows else [values] if values else []
    return [row for row in found if all(row.get(key) in allowed for key, allowed in where.items())]
