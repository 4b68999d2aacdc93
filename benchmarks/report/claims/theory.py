"""Claims of Sec. IV and V that are theorems or remarks: hardness, complexity, ratio, levels of the graph."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from depl.benchmarks.analysis.growth import growth_table, growths
from depl.benchmarks.analysis.table import Cell, Table
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.series import DEPL
from depl.benchmarks.report.verdicts import Captioned, Claim, Findings, Reading
from depl.models.foundation.wording import percentage

GENERAL_PURPOSE = {"density-greedy": "value-density greedy", "annealing": "simulated annealing"}
"""Heuristics that know nothing of the problem's structure."""
POORLY = 1.10
"""Mean cost over the optimum from which a heuristic is said to work poorly; the paper gives no figure."""
ARBITRARILY_CLOSE = 1.01
"""Cost over the optimum that the finest graph should reach if it gets "arbitrarily close"."""
LEVELS = 200
"""eta of Sec. VI-B."""
SIZES = {
    "scaling-datasets": "datasets",
    "scaling-models": "models",
    "scaling-epochs": "epochs",
    "scaling-clusters": "clusters",
    "scaling-scenarios": "scenarios",
    "paper-eta": "eta",
}
"""What each suite that varies one size varies: a label of its instances, or an option of its methods."""
_PAPERS = ("depl-paper", "depl")
_COMPARED_SUITES = ("paper", "random")


def hardness(evidence: Evidence) -> Findings:
    """Whether the corrected reductions map optimal solutions back and forth; the theorem itself is E6."""
    values = _values(evidence, "printed-statements")
    number = int(values.get("knapsacks", 0))
    wrong = int(values.get("corrected_mismatches", 0))
    measured = f"of {number} random knapsacks {wrong} are answered wrongly by the corrected reduction"
    statement = "deciding a random knapsack through the corrected reduction gives the right answer"
    return Findings([Reading(statement, number - wrong, number, measured, always=True)])


def printed_reduction(evidence: Evidence) -> Findings:
    """Whether the reduction as printed, items as models, decides the knapsack."""
    values = _values(evidence, "printed-statements")
    number = int(values.get("knapsacks", 0))
    wrong = int(values.get("printed_mismatches", 0))
    measured = f"of {number} random knapsacks {wrong} are answered wrongly by the printed construction"
    statement = "deciding a random knapsack through the printed construction gives the right answer"
    return Findings([Reading(statement, number - wrong, number, measured, always=True)])


def general_purpose_heuristics(evidence: Evidence) -> Findings:
    """Cost of general-purpose heuristics over the optimum, by itself and beside that of DepL as printed."""
    readings = []
    rows: list[tuple[Cell, ...]] = []
    for suite in _COMPARED_SUITES:
        quality = _quality(evidence, suite)
        rows += [(suite, name, *figures) for name, figures in quality.items()]
        for name, title in GENERAL_PURPOSE.items():
            instances, _, mean, missed = quality.get(name, (0, 0, None, 0.0))
            poor = mean is None or mean > POORLY or missed > 0.1
            figures = f"mean cost over the optimum {_number(mean)}, no plan for {percentage(missed, 2)}"
            statement = f"{title}: 10 % above the optimum, or no plan in one of ten instances, suite {suite}"
            cases = int(instances > 0)
            readings.append(Reading(statement, int(poor) * cases, cases, figures))
            for depl, depl_title in DEPL.items():
                both = _both(evidence.suite(suite), name, depl)
                costlier = sum(one > other * (1 + 1e-6) for one, other in both)
                cheaper = sum(other > one * (1 + 1e-6) for one, other in both)
                statement = f"{title} loses to {depl_title} more often than it wins, suite {suite}"
                figures = f"more expensive on {costlier}, cheaper on {cheaper} of {len(both)} that both solve"
                shown, cases = int(costlier > cheaper), int(bool(both))
                readings.append(Reading(statement, shown, cases, figures))
    columns = ("suite", "method", "instances", "compared", "mean cost / optimum", "share without plan")
    return Findings(
        readings, [Captioned("General-purpose heuristics beside DepL", Table(columns, tuple(rows)))]
    )


def polynomial_complexity(evidence: Evidence) -> Findings:
    """Whether measured times grow no faster than the exponents that Property 2 prints."""
    found = growths([item for item in evidence.attempts if item.method in _PAPERS], SIZES)
    fitted, readings = [], []
    for item in found:
        printed, line = item.printed, item.line
        if printed is not None and printed.exponent is not None and line is not None:
            fitted.append(item)
            part = "whole solve" if item.measure == "wall_seconds" else item.measure.replace("_", " ")
            figures = f"exponent {line.exponent:.2f}, 95 % interval {line.lower:.2f} to {line.upper:.2f}"
            # As the size of a step, eta is one over the number of levels.
            meanings = (
                {", eta the number of levels": 1, ", eta the size of a step": -1}
                if item.size == "eta"
                else {"": 1}
            )
            for meaning, sign in meanings.items():
                power = sign * printed.exponent
                symbol = "levels" if item.size == "eta" else printed.symbol
                statement = f"{item.configuration}, {part}{meaning}: not faster than {symbol}^{power:g}"
                readings.append(Reading(statement, int(line.lower <= power), 1, figures))
    return Findings(readings, [Captioned("Exponents of time against size", growth_table(fitted))])


def constant_ratio(evidence: Evidence) -> Findings:
    """Whether DepL as printed stays within the ratio that Property 3 prints, under each meaning of eta.

    An instance that has a plan, but none by DepL, has an infinite ratio.
    """
    ratios, missed = _ratios(evidence, "depl-paper")
    cases = len(ratios) + missed
    figures = f"largest cost over the optimum {max(ratios, default=0):.4g}, "
    figures += f"no plan for {missed} of {cases} instances"
    readings = []
    for statement, bound in (
        (f"eta a number of levels: at most (1/{LEVELS})(1 + epsilon) for some epsilon up to 1", 2 / LEVELS),
        (f"eta the size of a step: at most {LEVELS} (1 + epsilon) for some epsilon up to 1", 2.0 * LEVELS),
    ):
        inside = sum(ratio <= bound * (1 + 1e-9) for ratio in ratios)
        told = figures if cases else ""
        readings.append(Reading(statement, inside, cases, told, always=True))
    values = _values(evidence, "graph")
    if values:
        small, large = float(values["family_b_ratio_10"]), float(values["family_b_ratio_1000"])
        found = not values["family_a_missed"]
        figures = f"{small:.4g} with R = 10, {large:.4g} with R = 1000 in family B; family A "
        figures += "solved" if found else "not solved at all"
        statement = "whatever the constant is: the same in the two families of counterexamples"
        readings.append(Reading(statement, int(large <= small * (1 + 1e-9)) + found, 2, figures, always=True))
    return Findings(readings)


def more_levels_come_closer(evidence: Evidence) -> Findings:
    """Whether the cost falls towards the optimum as the graph gets more levels."""
    curves = _level_curves(evidence)
    readings, rows = [], []
    for configuration in sorted({name for name, _ in curves}):
        own = {instance: curve for (name, instance), curve in curves.items() if name == configuration}
        close = [curve[max(curve)][0] for curve in own.values()]
        reached = sum(ratio is not None and ratio <= ARBITRARILY_CLOSE for ratio in close)
        finest = max(max(curve) for curve in own.values())
        known = [ratio for ratio in close if ratio is not None]
        figures = f"cost over the optimum at eta = {finest} {_span(known)}" if known else "no plan"
        statement = f"{configuration}: within 1 % of the optimum at the most levels that were tried"
        readings.append(Reading(statement, reached, len(own), figures))
        steps = [pair for curve in own.values() for pair in _neighbours(curve)]
        falls = sum(finer <= coarser * (1 + 1e-9) for coarser, finer in steps)
        figures = f"{falls} of {len(steps)} steps to more levels"
        statement = f"{configuration}: more levels never cost more"
        readings.append(Reading(statement, falls, len(steps), figures))
        for instance, curve in own.items():
            rows += [
                (configuration, instance, eta, ratio, seconds)
                for eta, (ratio, seconds) in sorted(curve.items())
            ]
    columns = ("method", "instance", "eta", "cost / optimum", "seconds")
    return Findings(readings, [Captioned("Effect of eta", Table(columns, tuple(rows)))])


def levels_trade_time_for_cost(evidence: Evidence) -> Findings:
    """Whether fewer levels are quicker and more expensive."""
    curves = _level_curves(evidence)
    readings = []
    for configuration in sorted({name for name, _ in curves}):
        own = [curve for (name, _), curve in curves.items() if name == configuration and len(curve) > 1]
        pairs = [(curve[min(curve)], curve[max(curve)]) for curve in own]
        times = [(few[1], many[1]) for few, many in pairs if few[1] is not None and many[1] is not None]
        quicker = sum(few < many for few, many in times)
        costs = [(few[0], many[0]) for few, many in pairs if many[0] is not None]
        costlier = sum(few is None or few > many * (1 + 1e-9) for few, many in costs)
        ratio = (
            f"median ratio of seconds {np.median([many / few for few, many in times if few]):.3g}"
            if times
            else ""
        )
        statement = f"{configuration}: the fewest levels are quicker than the most"
        readings.append(Reading(statement, quicker, len(times), ratio))
        figures = f"{costlier} of {len(costs)} instances"
        statement = f"{configuration}: the fewest levels cost more, or find nothing"
        readings.append(Reading(statement, costlier, len(costs), figures))
    return Findings(readings)


CLAIMS = (
    Claim(
        "np-hard",
        "The problem is NP-hard.",
        "Sec. V, Property 1",
        "",
        hardness,
        ("E6",),
        short="The problem is NP-hard",
    ),
    Claim(
        "printed-reduction",
        "Knapsack reduces to it by inspection: items become models, values gains, weights requirements.",
        "Sec. V, proof of Property 1",
        "",
        printed_reduction,
        ("E6",),
        short="Knapsack reduces as printed",
    ),
    Claim(
        "general-purpose",
        "General-purpose heuristics work poorly here; strategies made for it, like DepL, are needed.",
        "Sec. V, remark after Property 1",
        "Neither the heuristics nor what would be poor are named.",
        general_purpose_heuristics,
        short="General heuristics work poorly",
        figures=(
            "paper-profiles",
            "random-profiles",
        ),
    ),
    Claim(
        "polynomial",
        "DepL takes O(|D|^2 + |M|^2 K^2 / eta^4 + 1 / epsilon).",
        "Sec. V, Property 2",
        "Whether eta is a number of levels or the size of a step, hence the sign of its exponent, is open.",
        polynomial_complexity,
        ("E3", "E8", "E9"),
        short="Polynomial time as printed",
        figures=(
            "scaling-*-time",
            "paper-eta-time",
        ),
    ),
    Claim(
        "constant-ratio",
        "DepL has a constant competitive ratio, (1/eta)(1 + epsilon), whatever the size of the problem.",
        "Abstract; Sec. V, Property 3",
        "Whether eta is a number of levels or the size of a step is open.",
        constant_ratio,
        ("E3", "E9", "E10"),
        short="Constant competitive ratio",
        figures=(
            "paper-profiles",
            "random-profiles",
        ),
    ),
    Claim(
        "arbitrarily-close",
        "With more levels eta, DepL gets arbitrarily close to the optimum.",
        "Sec. IV-B",
        "It depends on what the weight of an edge and the label of the loss are.",
        more_levels_come_closer,
        ("E5", "E12"),
        short="More levels, closer to optimum",
        figures=(
            "*-levels",
            "paper-eta-profiles",
        ),
    ),
    Claim(
        "trade-off",
        "Decreasing eta trades the quality of DepL's decisions for its speed.",
        "Sec. VI-B, Figs. 5 and 6, right",
        "",
        levels_trade_time_for_cost,
        ("E3",),
        short="Levels trade quality for speed",
        figures=(
            "*-levels",
            "paper-eta-*",
        ),
    ),
)


def _values(evidence: Evidence, case: str) -> dict[str, Any]:
    record = evidence.records.get(case)
    return {} if record is None else record.values


def _quality(evidence: Evidence, suite: str) -> dict[str, tuple[int, int, float | None, float]]:
    """By configuration: feasible instances it covers, ratios formed, their mean, share without a plan."""
    names = (*GENERAL_PURPOSE, *DEPL)
    own = [item for item in evidence.suite(suite) if item.task.configuration in names]
    found = {}
    for name in names:
        covered = [
            item
            for item in own
            if item.task.configuration == name and item.ending != "refused" and evidence.feasible(item)
        ]
        ratios = [ratio for item in covered if (ratio := evidence.ratio(item)) is not None]
        missed = sum(item.cost is None for item in covered)
        if covered:
            mean = float(np.mean(ratios)) if ratios else None
            found[name] = (len(covered), len(ratios), mean, missed / len(covered))
    return found


def _both(attempts: Sequence[Attempt], one: str, other: str) -> list[tuple[float, float]]:
    costs: dict[str, dict[str, float]] = {}
    for item in attempts:
        if item.cost is not None:
            costs.setdefault(item.task.instance, {}).setdefault(item.task.configuration, item.cost)
    return [(own[one], own[other]) for own in costs.values() if one in own and other in own]


def _ratios(evidence: Evidence, configuration: str) -> tuple[list[float], int]:
    """Cost over proved optima, and how many feasible instances have no plan, on all compared suites."""
    attempts = [
        item
        for suite in _COMPARED_SUITES
        for item in evidence.suite(suite)
        if item.task.configuration == configuration and item.ending != "refused"
    ]
    ratios = [ratio for item in attempts if (ratio := evidence.ratio(item)) is not None]
    return ratios, sum(item.cost is None and evidence.feasible(item) for item in attempts)


def _level_curves(evidence: Evidence) -> dict[tuple[str, str], dict[int, tuple[float | None, float | None]]]:
    """By method and instance: cost over the optimum, and seconds, by eta."""
    curves: dict[tuple[str, str], dict[int, tuple[float | None, float | None]]] = {}
    for item in evidence.suite("paper-eta"):
        eta = item.settings.get("options", {}).get("eta")
        if isinstance(eta, int) and item.ending != "refused":
            curve = curves.setdefault((item.method, item.task.instance), {})
            curve[eta] = (evidence.ratio(item), item.wall_seconds)
    return curves


def _neighbours(curve: dict[int, tuple[float | None, float | None]]) -> list[tuple[float, float]]:
    ratios = [curve[eta][0] for eta in sorted(curve)]
    return [(one, two) for one, two in itertools.pairwise(ratios) if one is not None and two is not None]


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.4g} to {max(values):.4g}"
