"""What a reading of a claim asks of the evidence: each predicate counts the cases and tells the figures.

A predicate of families takes points of a suite (`Point`) and names of configurations; a case is a family, and
it shows the claim if the figures of its targets do. The others read the attempts of a suite, or a record.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from depl.benchmarks.analysis.growth import growths
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.report.evidence import OPTIMUM, SHIPPED, Evidence, Point, end_of
from depl.benchmarks.suites.stage_orders import ORDERS
from depl.models.foundation.wording import percentage

PAPERS_ORDER = ORDERS[0]
"""Of the six orders in which the stages can be decided."""
FAST, MIDDLE, SLOW = "fast-unsteady", "intermediate", "slow-steady"
"""The paper's names of the three models of Table I."""
SIZES = {
    **{f"scaling-{name}": name for name in ("datasets", "models", "epochs", "clusters", "scenarios")},
    "paper-eta": "eta",
}
"""What each suite that varies one size varies: a label of its instances, or an option of its methods."""
_ROUNDING = 1e-9


class Found(NamedTuple):
    """In how many of the cases a reading shows, the figures behind it, and whether it is about all cases.

    A reading about all cases is refuted by one that does not show it; others then hold in part.
    """

    shown: int
    cases: int
    measured: str = ""
    always: bool = False


Predicate = Callable[[Evidence, str, tuple[str, ...]], Found]
"""Of the evidence, a suite or record, and the configurations."""
_Values = Callable[..., list[float]]
_Figure = Callable[..., float | None]


def cheaper_by(share: float, base: str) -> Predicate:
    """One configuration costs less than another by more than that share, mean over the targets."""

    def told(families: Sequence[Sequence[float]]) -> str:
        means = [float(np.mean(own)) for own in families]
        return f"means from {min(means):.1%} to {max(means):.1%}"

    return _families(_each(_BASES[base]), lambda own: np.mean(own) > share, told)


def ratio_at_most(limit: float) -> Predicate:
    """A plan wherever there is one, at a mean cost over the proved optimum up to the limit."""

    def told(families: Sequence[Sequence[float]]) -> str:
        held = [[value for value in own if value < np.inf] for own in families]
        means = [float(np.mean(own)) for own in held if own]
        if len(means) < 2:
            return f"mean cost over the optimum {means[0]:.4g}" if means else "no plan at all"
        return f"mean cost over the optimum from {min(means):.4g} to {max(means):.4g}"

    return _families(_each(_over_optimum), lambda own: np.mean(own) <= limit, told)


def always_rises(evidence: Evidence, suite: str, names: tuple[str, ...]) -> Found:
    """Of any two neighbouring targets of a family the tighter one costs more."""

    def steps(points: Sequence[Point], name: str) -> list[float]:
        costs = [cost for point in points if (cost := point.cost(name)) is not None]
        return [float(tight > loose) for tight, loose in itertools.pairwise(costs)]

    def told(families: Sequence[Sequence[float]]) -> str:
        every = [step for own in families for step in own]
        return f"{sum(every):g} of {len(every)} pairs of neighbouring targets"

    return _families(steps, all, told)(evidence, suite, names)


def larger_when_loose(base: str) -> Predicate:
    """Costs differ more in the looser half of the targets than in the tighter; a middle one is in neither."""

    def halves(points: Sequence[Point], depl: str, best: str) -> list[float]:
        known = _each(_BASES[base])(points, depl, best)
        half = len(known) // 2
        return [float(np.mean(known[-half:]) - np.mean(known[:half]))] if half else []

    return _families(halves, lambda own: own[0] > 0, lambda known: "")


def every(figure: str, shows: Callable[[float], bool]) -> Predicate:
    """A figure of the plans, one of `FIGURES`, shows the claim at every target."""
    words, value = FIGURES[figure]

    def told(families: Sequence[Sequence[float]]) -> str:
        known = [one for own in families for one in own]
        return f"{words} {min(known):.3g} to {max(known):.3g}, median {np.median(known):.3g}"

    return _families(_each(value), lambda own: all(map(shows, own)), told)


def uses_at(place: int, shows: Callable[[set[str]], bool]) -> Predicate:
    """The models that are used at the tightest (0) or loosest (-1) target of the suite."""

    def predicate(evidence: Evidence, suite: str, names: tuple[str, ...]) -> Found:
        ends = [end_of(suite, *item, place) for item in evidence.families[suite].items()]
        used = [set(own) for point in ends if point and (own := point.epochs(names[0]))]
        return Found(sum(map(shows, used)), len(used))

    return predicate


def cheaper_network(evidence: Evidence, suite: str, names: tuple[str, ...]) -> Found:
    """MobileNet costs less than AlexNet at the same target."""
    pairs = _networks(evidence, suite, names[0])
    listed = [f"{small:.4g} against {large:.4g} at {target:g}" for target, large, small in pairs]
    return Found(sum(small < large for _, large, small in pairs), len(pairs), ", ".join(listed))


def falls_more(relative: bool) -> Predicate:
    """The cost of MobileNet falls more between the ends of the targets than that of AlexNet."""

    def predicate(evidence: Evidence, suite: str, names: tuple[str, ...]) -> Found:
        networks = {name: evidence.families[suite].get(name, []) for name in _NETWORKS}
        ends = [end_of(suite, *item, place) for item in networks.items() if item[1] for place in (0, -1)]
        pairs = _networks(evidence, suite, names[0])
        if not pairs or None in ends:
            return Found(0, 0)
        costs = [[pair[place] for pair in (pairs[0], pairs[-1])] for place in (1, 2)]
        large, small = [(tight - loose) / (tight if relative else 1) for tight, loose in costs]
        shown = small > large * (1 + _ROUNDING)
        return Found(int(shown), 1, f"falls by {small:.4g} against {large:.4g}")

    return predicate


def none_wrong(number: str, wrong: str, told: str, **where: Any) -> Predicate:
    """Of so many cases of a record none is counted as wrong; ``where`` selects rows of its selections."""

    def predicate(evidence: Evidence, study: str, names: tuple[str, ...]) -> Found:
        values = evidence.values(study)
        rows = values.get("selections", []) if where else [values]
        rows = [row for row in rows if all(row.get(key) in allowed for key, allowed in where.items())]
        cases, missed = (sum(int(row.get(key, 0)) for row in rows) for key in (number, wrong))
        words = told.format(wrong=missed, number=cases, **values) if cases else ""
        return Found(cases - missed, cases, words, always=True)

    return predicate


def figure(key: str, shows: Callable[[float], bool], told: str) -> Predicate:
    """One figure of a record shows the claim; ``told`` is a format of it and of the others."""

    def predicate(evidence: Evidence, study: str, names: tuple[str, ...]) -> Found:
        values = evidence.values(study)
        return (
            Found(int(shows(values[key])), 1, told.format(values[key], **values)) if values else Found(0, 0)
        )

    return predicate


def rows_say(name: str, key: str) -> Predicate:
    """The rows of a record that show the claim: by a truth value, or by the verdict on a mean."""

    def predicate(evidence: Evidence, study: str, names: tuple[str, ...]) -> Found:
        rows = evidence.values(study).get(name, [])
        return Found(
            sum(bool(row[key]) if key in row else row["mean_verdict"] == key for row in rows), len(rows)
        )

    return predicate


def equal_bounds(evidence: Evidence, study: str, names: tuple[str, ...]) -> Found:
    """The quantile by added log-transforms (Chernoff) is the certified one, to 1 % of its margin."""
    values = evidence.values(study)
    least, largest = (values.get(f"{name}_margin_ratio") for name in ("least", "largest"))
    number = int(values.get("bounded_plans", 0))
    told = f"margin over the mean {least} to {largest} times as large" if number else ""
    return Found(int(values.get("equal_bounds", 0)), number, told, always=True)


def fits(family: str, by: str, kind: str) -> Predicate:
    """Almost all p-values of the inverse gamma exceed .05 on the improvements of one family."""

    def predicate(evidence: Evidence, study: str, names: tuple[str, ...]) -> Found:
        for row in evidence.values(study).get("improvement_fits", []):
            if (row["family"], row["by"]) == (family, by):
                told = f"{percentage(row[kind], 2)} of {row['fits']} p-values exceed .05"
                return Found(int(row[kind] >= 0.95), 1, told)
        return Found(0, 0)

    return predicate


def works_poorly(factor: float) -> Predicate:
    """A heuristic's mean cost over the optimum exceeds the factor, or it misses one of ten instances."""

    def predicate(evidence: Evidence, suite: str, names: tuple[str, ...]) -> Found:
        own = [item for item in evidence.suite(suite) if item.task.configuration == names[0]]
        own = [item for item in own if item.ending != "refused" and evidence.reference(item).feasible]
        if not own:
            return Found(0, 0)
        ratios = [ratio for item in own if (ratio := evidence.ratio(item)) is not None]
        missed = sum(item.cost is None for item in own) / len(own)
        mean = float(np.mean(ratios)) if ratios else np.inf
        figure = f"{mean:.4g}" if ratios else "unknown"
        told = f"mean cost over the optimum {figure}, no plan for {percentage(missed, 2)}"
        return Found(int(mean > factor or missed > 0.1), 1, told)

    return predicate


def loses_more_often(evidence: Evidence, suite: str, names: tuple[str, ...]) -> Found:
    """One configuration is more expensive than another on more instances than it is cheaper."""
    costs: dict[str, dict[str, float]] = {}
    for item in evidence.suite(suite):
        if item.cost is not None:
            costs.setdefault(item.task.instance, {}).setdefault(item.task.configuration, item.cost)
    both = [tuple(own[name] for name in names) for own in costs.values() if own.keys() >= set(names)]
    costlier, cheaper = (sum(pair[place] > pair[1 - place] * (1 + 1e-6) for pair in both) for place in (0, 1))
    told = f"more expensive on {costlier}, cheaper on {cheaper} of {len(both)} that both solve"
    return Found(int(costlier > cheaper), int(bool(both)), told)


def grows_no_faster(power: float) -> Predicate:
    """The exponent of seconds against the size of a suite is not above the power, by its 95 % interval."""

    def predicate(evidence: Evidence, suite: str, names: tuple[str, ...]) -> Found:
        configuration, measure = names
        own = [item for item in evidence.suite(suite) if item.method == configuration]
        for item in growths(own, SIZES):
            if item.measure == measure and item.line is not None:
                exponent, lower, upper = item.line[:3]
                told = f"exponent {exponent:.2f}, 95 % interval {lower:.2f} to {upper:.2f}"
                return Found(int(lower <= power), 1, told)
        return Found(0, 0)

    return predicate


def within_ratio(bound: float) -> Predicate:
    """Every cost over a proved optimum is within the bound; an instance without a plan has no finite one."""

    def predicate(evidence: Evidence, suite: str, names: tuple[str, ...]) -> Found:
        own = [item for name in suite.split() for item in evidence.suite(name)]
        own = [item for item in own if item.task.configuration == names[0] and item.ending != "refused"]
        ratios = [ratio for item in own if (ratio := evidence.ratio(item)) is not None]
        missed = sum(item.cost is None and evidence.reference(item).feasible for item in own)
        cases = len(ratios) + missed
        told = f"largest cost over the optimum {max(ratios, default=0):.4g}, "
        told += f"no plan for {missed} of {cases} instances"
        inside = sum(ratio <= bound * (1 + _ROUNDING) for ratio in ratios)
        return Found(inside, cases, told if cases else "", always=True)

    return predicate


def same_in_both_families(evidence: Evidence, study: str, names: tuple[str, ...]) -> Found:
    """Cost over the optimum is the same in the two families of counterexamples, whatever their size."""
    values = evidence.values(study)
    if not values:
        return Found(0, 0)
    small, large = float(values["family_b_ratio_10"]), float(values["family_b_ratio_1000"])
    found = not values["family_a_missed"]
    told = f"{small:.4g} with R = 10, {large:.4g} with R = 1000 in family B; family A "
    told += "solved" if found else "not solved at all"
    return Found(int(large <= small * (1 + _ROUNDING)) + found, 2, told, always=True)


Curve = dict[int, tuple[float | None, float | None]]
"""Cost over the optimum, and seconds, by eta."""


def of_levels(shows: Callable[[Curve], list[bool]], told: Callable[[Sequence[Curve], str], str]) -> Predicate:
    """What a method's cost and time do with the levels eta, by instance."""

    def predicate(evidence: Evidence, suite: str, names: tuple[str, ...]) -> Found:
        curves: dict[str, Curve] = {}
        for item in evidence.suite(suite):
            eta = item.settings.get("options", {}).get("eta")
            if item.method == names[0] and isinstance(eta, int) and item.ending != "refused":
                curve = curves.setdefault(item.task.instance, {})
                curve[eta] = (evidence.ratio(item), item.wall_seconds)
        steps = [step for curve in curves.values() for step in shows(curve)]
        counted = f"{sum(steps)} of {len(steps)}"
        return Found(sum(steps), len(steps), told(list(curves.values()), counted) if steps else "")

    return predicate


def no_other_order_is_lower(what: str, errors: bool) -> Predicate:
    """No other order of the stages has a lower mean of a figure, each over the instances that both have."""
    figure = ORDER_FIGURES[what]

    def predicate(evidence: Evidence, suite: str, names: tuple[str, ...]) -> Found:
        by_order: dict[str, dict[str, Attempt]] = {}
        for item in evidence.suite(suite):
            order, error = item.settings.get("options", {}).get("order"), item.labels.get("error", 0.0)
            if isinstance(order, str) and isinstance(error, int | float) and (error > 0) is errors:
                by_order.setdefault(order, {})[f"{item.task.instance} {item.task.seed}"] = item
        papers, told, shown = by_order.pop(PAPERS_ORDER, {}), [], 0
        for order, others in by_order.items():
            pairs = [(figure(papers[key]), figure(others[key])) for key in papers if key in others]
            known = np.array([pair for pair in pairs if None not in pair], dtype=float)
            if len(known):
                own, other = known.mean(axis=0)
                shown += bool(own <= other * (1 + _ROUNDING))
                told.append(f"{own:.4g} against {other:.4g} of {order}")
        return Found(shown, len(told), "; ".join(told), always=True)

    return predicate


def _families(values: _Values, shows: Callable[[list[float]], Any], told: Callable[..., str]) -> Predicate:
    """Over the families that have a value at some target."""

    def predicate(evidence: Evidence, suite: str, names: tuple[str, ...]) -> Found:
        known = [own for points in evidence.families[suite].values() if (own := values(points, *names))]
        return Found(sum(bool(shows(own)) for own in known), len(known), told(known) if known else "")

    return predicate


def _each(figure: _Figure) -> _Values:
    """The figure at every target that has it."""
    return lambda points, *names: [value for point in points if (value := figure(point, *names)) is not None]


def _costs(relative: Callable[[float, float], float]) -> _Figure:
    def figure(point: Point, depl: str, best: str) -> float | None:
        one, other = point.cost(depl), point.cost(best)
        return relative(one, other) if one is not None and other is not None and min(one, other) > 0 else None

    return figure


_BASES: Mapping[str, _Figure] = {
    "saving relative to best-exp": _costs(lambda depl, best: 1 - depl / best),
    "extra cost of best-exp relative to DepL": _costs(lambda depl, best: best / depl - 1),
    "in units of cost": _costs(lambda depl, best: best - depl),
    "relative to DepL": _costs(lambda depl, best: best / depl - 1),
}


def _over_optimum(point: Point, name: str) -> float | None:
    """Cost over the proved optimum, infinite without a plan; None where the method refused or was not run."""
    attempt, cost = point.attempts.get(name), point.cost(name)
    if attempt is None or not point.optimum or (cost is None and attempt.ending == "refused"):
        return None
    return np.inf if cost is None else cost / point.optimum


def _over(value: float | None, reference: float | None) -> float | None:
    return None if value is None or not reference else value / reference


def _violation_used(point: Point, name: str) -> float | None:
    """Certified probability of missing the target over the allowed one."""
    plan = point.plan(name)
    held = None if plan is None or plan.violation is None else plan.violation[1]
    return _over(held, point.measure(name, "violation_allowed"))


def _slack(point: Point, name: str) -> float | None:
    quantile = point.measure(name, "quantile")
    return None if quantile is None else point.target - quantile


def _expected(point: Point, name: str) -> float | None:
    return _over(point.measure(name, "expected_loss"), point.measure(OPTIMUM, "expected_loss"))


def _overlap(point: Point, name: str) -> float | None:
    """Share of epochs spent with the same model as the optimum, of the longer of the two plans."""
    one, other = point.epochs(name), point.epochs(OPTIMUM)
    common = sum(min(count, other.get(model, 0)) for model, count in one.items())
    return common / max(sum(one.values()), sum(other.values())) if one and other else None


def _fast_share(point: Point, name: str) -> float | None:
    used = point.epochs(name)
    return used.get(FAST, 0) / sum(used.values()) if used else None


def _epochs(point: Point, name: str, other: str) -> float | None:
    one, two = (point.epochs(own) if point.plan(own) else None for own in (name, other))
    return None if one is None or two is None else _over(sum(one.values()), sum(two.values()))


def _band(point: Point, name: str) -> float | None:
    high, low = point.measure(name, "quantile"), point.measure(name, "quantile_low")
    return None if high is None or low is None else high - low


FIGURES: Mapping[str, tuple[str, _Figure]] = {
    "violation": ("share used", _violation_used),
    "slack": ("loss below the target", _slack),
    "expected loss": ("expected loss over the optimum's", _expected),
    "overlap": ("share alike", _overlap),
    "fast epochs": ("share of epochs", _fast_share),
    "fast cost": (
        "share of cost",
        lambda at, name: _over(at.measure(name, f"cost_of.{FAST}"), at.cost(name)),
    ),
    "epochs": ("ratio of epochs", _epochs),
    "cost": ("ratio of costs", lambda at, name, other: _over(at.cost(name), at.cost(other))),
    "band": ("ratio of widths", lambda at, name, other: _over(_band(at, name), _band(at, other))),
}
"""What is told of plans at a target, with its words."""


def _true_cost(attempt: Attempt) -> float | None:
    return attempt.measures.get("true_cost", attempt.cost) if attempt.cost is not None else None


def _without_plan(attempt: Attempt) -> float | None:
    return None if attempt.ending == "refused" else float(attempt.cost is None)


def _broken(attempt: Attempt) -> float | None:
    delivered, allowed = (attempt.measures.get(key) for key in ("delivered", "violation_allowed"))
    return None if delivered is None or allowed is None else float(1 - delivered > allowed * (1 + _ROUNDING))


ORDER_FIGURES: Mapping[str, Callable[[Attempt], float | None]] = {
    "mean cost where both have plans": _true_cost,
    "share of instances without a plan": _without_plan,
    "share of promises broken under the true law": _broken,
}
"""By what an order of the stages is judged."""
_NETWORKS = (f"{SHIPPED}-alexnet", f"{SHIPPED}-mobilenet")


def _networks(evidence: Evidence, suite: str, name: str) -> list[tuple[float, float, float]]:
    """Every target that both networks have a cost at, with these costs."""
    large, small = (
        {point.target: point.cost(name) for point in evidence.families[suite].get(network, ())}
        for network in _NETWORKS
    )
    both = [(target, large[target], small.get(target)) for target in large]
    return [(target, one, two) for target, one, two in both if one is not None and two is not None]
