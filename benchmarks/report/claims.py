"""The claims of the paper as a table: what it says, where, and the readings, the literal one first.

Where a claim names DepL, the literal reading takes the loop as printed; best-exp is the greedy one that the
paper describes; instances are the shipped families; a saving is relative to best-exp, a difference in units
of cost, an order of the stages is judged by cost. A claim on the problem is read at the optimum, one on a
statistic as it is printed. Thresholds that the paper does not give are named constants.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from depl.benchmarks.report import predicates as ask
from depl.benchmarks.report.evidence import COMPLETIONS, FAST, MIDDLE, OPTIMUM, RANDOM, SHIPPED, SLOW
from depl.benchmarks.report.predicates import ROUNDING, Curve, Predicate
from depl.benchmarks.report.verdicts import Claim, Place, Reading
from depl.models.foundation.wording import percentage

DEPL = {"depl-paper": "DepL as printed", "depl": "DepL with bounds"}
"""The two readings of DepL: the loop as printed, and the default method of this toolkit."""
BEST_EXP = {"expected-greedy": "greedy best-exp", "expected-cost": "cost-aware best-exp"}
"""The two readings of best-exp: as the paper describes it, and as its source does."""
BETTER = 0.27
"""The abstract's "over 27%"."""
CLOSELY = 1.05
"""Mean cost over the optimum up to which plans are said to match it closely; the paper gives no figure."""
SIMILAR = 0.9
"""Share of epochs spent alike from which choices are said to be very similar; the paper gives no figure."""
NEARLY = 0.95
"""Share of the allowed violation from which constraint (3) is said to be met with equality."""
HALF = 0.5
"""Share of epochs or of cost above which one model is said to be used, or paid for, most."""
POORLY = 1.10
"""Mean cost over the optimum from which a heuristic is said to work poorly; the paper gives no figure."""
ARBITRARILY_CLOSE = 1.01
"""Cost over the optimum that the finest graph should reach if it gets "arbitrarily close"."""
LEVELS = 200
"""eta of Sec. VI-B."""
KEPT = 0.05
"""How far delivered may lie from promised for a law to be said to describe training."""
_FIGURES = re.compile(r"Figs?\. (\d+(?:(?:, | and |, and )\d+)*)")
_SHIPPED, _RANDOM = {SHIPPED: "the shipped instances"}, {RANDOM: "random instances"}
_SOURCES = _SHIPPED | {COMPLETIONS: "the completions of Table I"}
_OPTIMUM = {OPTIMUM: "the optimum"}
_EVERYBODY = _OPTIMUM | DEPL | BEST_EXP
_GENERAL = {"annealing": "simulated annealing", "density-greedy": "value-density greedy"}
"""Heuristics that know nothing of the problem's structure."""
_PRINTED = "printed-statements"
"""The record of what was tried as the paper prints it."""


def _on(
    statement: str, predicate: Predicate, *methods: Mapping[str, str], sources: Mapping[str, str] = _SOURCES
) -> list[Reading]:
    """Readings on every source of instances, for every choice of methods."""
    return [
        Reading(
            f"{statement.format(*dict(chosen).values())}, on {source}", suite, predicate, tuple(dict(chosen))
        )
        for suite, source in sources.items()
        for chosen in product(*(own.items() for own in methods))
    ]


def _by_base(statement: str, predicate: Callable[[str], Predicate], *bases: str) -> list[Reading]:
    """DepL and best-exp, compared in several units."""
    return [item for base in bases for item in _on(f"{statement}, {base}", predicate(base), DEPL, BEST_EXP)]


def _exceeds(words: str, figure: str) -> list[Reading]:
    """A figure of best-exp exceeds that of DepL and of the optimum."""
    return _on(f"{{}} {words} {{}}", ask.every(figure, (1 + ROUNDING).__lt__), BEST_EXP, DEPL | _OPTIMUM)


def _polynomial() -> list[Reading]:
    """Exponents of the whole solve; the table of growth has those of its stages.

    As the size of a step, eta is one over the number of levels.
    """
    asked = (
        ("paper-eta", -4, "levels^-4, eta the number of levels", ("depl-paper",)),
        ("paper-eta", 4, "levels^4, eta the size of a step", ("depl-paper",)),
        ("scaling-datasets", 2, "|D|^2", ("depl",)),
        ("scaling-epochs", 2, "K^2", ("depl", "depl-paper")),
        ("scaling-models", 2, "|M|^2", ("depl", "depl-paper")),
    )
    return [
        Reading(f"{name}, whole solve: not faster than {symbol}", suite, ask.grows_no_faster(power), (name,))
        for suite, power, symbol, names in asked
        for name in names
    ]


def _selections(titles: Mapping[str, str]) -> list[Reading]:
    """Random selections of datasets under the two laws that "a logarithm law" (Sec. IV-A) can mean."""
    told, found = "refuted on {wrong} of {number}", []
    for law, sent, (wrong, title) in product(("log", "inverse log"), ("with", "without"), titles.items()):
        where = {"law": (law,), "communication": (f"{sent} communication",)}
        predicate = ask.none_wrong("problems", wrong, told, "selections", where)
        found.append(Reading(f"{title}, {law} law, {sent} communication", _PRINTED, predicate))
    return found


def _none_wrong(
    statement: str, wrong: str, told: str, number: str, study: str = _PRINTED, **given: Any
) -> Reading:
    return Reading(statement, study, ask.none_wrong(number, wrong, told, **given))


def _reduced(construction: str, wrong: str) -> list[Reading]:
    statement = f"deciding a random knapsack through {construction} gives the right answer"
    told = f"of {{number}} random knapsacks {{wrong}} are answered wrongly by {construction}"
    return [_none_wrong(statement, wrong, told, "knapsacks")]


def _orders(errors: bool) -> list[Reading]:
    judged_by = {what: ask.no_other_order_is_lower(what, errors) for what in ask.ORDER_FIGURES}
    return [Reading(f"no other order has a lower {what}", "ablation", by) for what, by in judged_by.items()]


def _fits() -> list[Reading]:
    kinds = {"as_printed": "p-values as printed", "honest": "honest p-values, by bootstrap"}
    families, samples = (
        ("digits-alexnet", "digits-mobilenet"),
        ("curve by curve", "all runs of a combination"),
    )
    return [
        Reading(f"{name}, {family}, {by}: almost all (95 %) exceed .05", _PRINTED, _fit(kind, family, by))
        for (kind, name), family, by in product(kinds.items(), families, samples)
    ]


def _fit(kind: str, family: str, by: str) -> Predicate:
    def told(row: Mapping[str, Any]) -> str:
        return f"{percentage(row[kind], 2)} of {row['fits']} p-values exceed .05"

    where = {"family": (family,), "by": (by,)}
    return ask.on_record(lambda row: [row[kind] >= 0.95], told, "improvement_fits", where)


def _switches(name: str, statement: str) -> Reading:
    return Reading(statement, _PRINTED, ask.on_record(lambda row: [row[name]], rows="switch_fits"))


def _within(meaning: str, bound: float) -> Reading:
    statement, suites = f"eta {meaning} (1 + epsilon) for some epsilon up to 1", f"{SHIPPED} {RANDOM}"
    return Reading(statement, suites, ask.within_ratio(bound), ("depl-paper",))


def _levels(statement: str, *asked: Callable[..., Any]) -> Reading:
    return Reading(f"depl-paper: {statement}", "paper-eta", ask.of_levels(*asked), ("depl-paper",))


def _told_close(curves: Sequence[Curve]) -> str:
    known = [curve[-1][1] for curve in curves if not np.isnan(curve[-1][1])]
    span = f" {min(known):.4g} to {max(known):.4g}" if known else ": no plan"
    return f"cost over the optimum at eta = {max(curve[-1][0] for curve in curves)}{span}"


def _speedups(curve: Curve) -> list[float]:
    """Seconds with the most levels over those with the fewest."""
    found = curve[-1][2] / curve[0][2] if len(curve) > 1 and curve[0][2] else np.nan
    return [] if np.isnan(found) else [found]


def _told_quicker(curves: Sequence[Curve]) -> str:
    return f"median ratio of seconds {np.median([own for curve in curves for own in _speedups(curve)]):.3g}"


def _costlier(curve: Curve) -> list[bool]:
    few, many = curve[0][1], curve[-1][1]
    return [not few <= many * (1 + ROUNDING)] if len(curve) > 1 and not np.isnan(many) else []


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "over-27-percent",
        "DepL outperforms the state of the art, best-exp, by over 27\u00a0%.",
        Place("Abstract; Figs. 5 and 6, left", errata="E13", figures="*-cost"),
        *_by_base(
            "{} against {}, mean over the targets",
            lambda base: ask.cheaper_by(BETTER, base),
            "saving relative to best-exp",
            "extra cost of best-exp relative to DepL",
        ),
    ),
    Claim(
        "closely-matches",
        "DepL closely, virtually always, matches the optimum.",
        Place(
            "Abstract; Sec. VI-B, Figs. 5 and 6, left",
            errata="E12 E13",
            figures="*-cost paper-profiles reconstruction-profiles",
        ),
        *_on(
            "{}: a plan everywhere, at most 5 % above the optimum on average",
            ask.ratio_at_most(CLOSELY),
            DEPL,
            sources=_SOURCES | _RANDOM,
        ),
    ),
    Claim(
        "tighter-costs-more",
        "Tighter requirements on the loss need more training, hence cost more.",
        Place("Sec. VI-B, Fig. 5, left", figures="*-cost"),
        *_on("{}: the tighter of two targets always costs more", ask.always_rises(), _EVERYBODY),
    ),
    Claim(
        "largest-when-loose",
        "The difference between DepL and best-exp is especially large when the requirements are less strict.",
        Place("Sec. VI-B, Fig. 5, left", errata="E13", figures="*-cost"),
        *_by_base("{} and {}", ask.larger_when_loose, "in units of cost", "relative to DepL"),
    ),
    Claim(
        "mobilenet-cheaper",
        "With MobileNet costs tend to be lower than with AlexNet.",
        Place("Sec. VI-B, Fig. 6", figures="paper-alexnet-cost paper-mobilenet-cost"),
        *_on("{}: cheaper at the same target", ask.networks(), _EVERYBODY, sources=_SHIPPED),
    ),
    Claim(
        "mobilenet-steeper",
        "MobileNet's costs fall more steeply as the target is loosened: it struggles more with harder tasks.",
        Place("Sec. VI-B, Fig. 6", figures="paper-alexnet-cost paper-mobilenet-cost"),
        *_on(
            "{}, in units of cost: MobileNet falls more",
            ask.networks(at_ends=True),
            _EVERYBODY,
            sources=_SHIPPED,
        ),
    ),
    Claim(
        "equality",
        "All strategies meet the quantile constraint (3) with equality.",
        Place("Sec. VI-B, Fig. 5, centre", figures="*-loss"),
        *_on(
            "{}: 95 % of the allowed probability is used", ask.every("violation", NEARLY.__le__), _EVERYBODY
        ),
    ),
    Claim(
        "lower-expected-loss",
        "best-exp and, to a much smaller extent, DepL yield a lower expected loss than the optimum.",
        Place("Sec. VI-B, Figs. 5 and 6, centre", figures="*-expected-loss"),
        *_on(
            "{} expects less than the optimum",
            ask.every("expected loss", (1 - ROUNDING).__gt__),
            BEST_EXP | DEPL,
        ),
    ),
    Claim(
        "similar-choices",
        "DepL makes very similar choices of models to the optimum.",
        Place("Sec. VI-B, Fig. 7", figures="*-epochs"),
        *_on("{}: at least 90 % of the epochs alike", ask.every("overlap", SIMILAR.__le__), DEPL),
    ),
    Claim(
        "intermediate-when-loose",
        'When the target is loose, both DepL and the optimum use only the "intermediate" model.',
        Place("Sec. VI-B, Fig. 7", errata="E13", figures="*-epochs"),
        *_on("{}: only intermediate at the loosest target", ask.uses_at(-1, MIDDLE), DEPL | _OPTIMUM),
    ),
    Claim(
        "all-when-tight",
        "As the target gets tighter, switches become necessary and all models are used.",
        Place("Sec. VI-B, Fig. 7", errata="E13", figures="*-epochs"),
        *_on("{}: all models at the tightest target", ask.uses_at(0, FAST, MIDDLE, SLOW), _OPTIMUM | DEPL),
    ),
    Claim(
        "fast-most",
        'best-exp uses the "fast-unsteady" model as much as possible.',
        Place("Sec. VI-B, Fig. 7", figures="*-epochs"),
        *_on("{}: most epochs are fast-unsteady", ask.every("fast epochs", HALF.__lt__), BEST_EXP),
    ),
    Claim(
        "more-epochs",
        "best-exp runs a higher number of epochs; the curves of DepL and of the optimum are shorter.",
        Place("Sec. VI-B, Figs. 7 and 9", errata="E13", figures="*-epochs"),
        *_exceeds("runs more epochs than", "epochs"),
    ),
    Claim(
        "fast-pays",
        'best-exp incurs the highest cost, and much of it is due to the "fast-unsteady" model.',
        Place("Sec. VI-B, Fig. 8", figures="*-cost-per-model"),
        *_exceeds("costs more than", "cost"),
        *_on("{}: most of the cost is for fast-unsteady", ask.every("fast cost", HALF.__lt__), BEST_EXP),
    ),
    Claim(
        "wider-bands",
        "best-exp has a larger distance between the 1st and the 99th percentile of the loss.",
        Place("Sec. VI-B, Fig. 9", figures="*-loss"),
        *_exceeds("has a wider band than", "band"),
    ),
    Claim(
        "np-hard",
        "The problem is NP-hard.",
        Place("Sec. V, Property 1", errata="E6"),
        *_reduced("the corrected reduction", "corrected_mismatches"),
    ),
    Claim(
        "printed-reduction",
        "Knapsack reduces to it by inspection: items become models, values gains, weights requirements.",
        Place("Sec. V, proof of Property 1", errata="E6"),
        *_reduced("the printed construction", "printed_mismatches"),
    ),
    Claim(
        "general-purpose",
        "General-purpose heuristics work poorly here; strategies made for it, like DepL, are needed.",
        Place("Sec. V, remark after Property 1", figures="paper-profiles random-profiles"),
        *_on(
            "{} loses to {} more often than it wins",
            ask.loses_more_often(),
            _GENERAL,
            DEPL,
            sources=_RANDOM | _SHIPPED,
        ),
        *_on(
            "{}: 10 % above the optimum, or no plan in one of ten instances",
            ask.works_poorly(POORLY),
            _GENERAL,
            sources=_RANDOM | _SHIPPED,
        ),
    ),
    Claim(
        "polynomial",
        "DepL takes O(|D|^2 + |M|^2 K^2 / eta^4 + 1 / epsilon).",
        Place("Sec. V, Property 2", errata="E3 E8 E9", figures="scaling-*-time paper-eta-time"),
        *_polynomial(),
    ),
    Claim(
        "constant-ratio",
        "DepL has a constant competitive ratio, (1/eta)(1 + epsilon), whatever the size of the problem.",
        Place("Abstract; Sec. V, Property 3", errata="E3 E9 E10", figures="paper-profiles random-profiles"),
        _within(f"a number of levels: at most (1/{LEVELS})", 2 / LEVELS),
        _within(f"the size of a step: at most {LEVELS}", 2.0 * LEVELS),
    ),
    Claim(
        "arbitrarily-close",
        "With more levels eta, DepL gets arbitrarily close to the optimum.",
        Place("Sec. IV-B", errata="E5 E12", figures="*-levels paper-eta-profiles"),
        _levels(
            "within 1 % of the optimum at the most levels that were tried",
            lambda curve: [curve[-1][1] <= ARBITRARILY_CLOSE],
            _told_close,
        ),
    ),
    Claim(
        "trade-off",
        "Decreasing eta trades the quality of DepL's decisions for its speed.",
        Place("Sec. VI-B, Figs. 5 and 6, right", errata="E3", figures="*-levels paper-eta-*"),
        _levels(
            "the fewest levels are quicker than the most",
            lambda curve: [ratio > 1 for ratio in _speedups(curve)],
            _told_quicker,
        ),
        _levels("the fewest levels cost more, or find nothing", _costlier),
    ),
    Claim(
        "submodular",
        "The product of epochs needed and time per epoch, K^ T^, is submodular in the set of datasets.",
        Place("Sec. IV-A", errata="E4"),
        *_selections({"refuted": "submodular"}),
    ),
    Claim(
        "no-further-help",
        "If adding a dataset does not help, adding another one does not help either.",
        Place("Sec. IV-A", errata="E4"),
        *_selections(
            {
                "helps_later": "after a dataset that does not help, no other one helps",
                "pairs_help": "where no single dataset helps, no two help together",
            }
        ),
    ),
    Claim(
        "data-optimal",
        "The first stage, the selection of datasets, is solved to optimality in polynomial time.",
        Place("Sec. IV-A; proof of Property 2", errata="E4 E8"),
        _none_wrong(
            "by a minimiser of submodular functions, as the paper says",
            "missed_by_minimum_norm",
            "another set is better on {wrong} of {number}",
            "problems",
            rows="selections",
            where={"law": ("log", "inverse log")},
        ),
        _none_wrong(
            "by branch and bound, which uses no submodularity",
            "selections_missed",
            "{wrong} of {number} not solved",
            "selections",
            "data",
        ),
    ),
    Claim(
        "additive-quantiles",
        "Replacing densities by the logarithms of their Laplace transforms makes the loss quantile additive.",
        Place("Sec. IV-B", errata="E5"),
        _none_wrong(
            "the sum gives the quantile itself, to 1 % of its margin",
            "equal_bounds",
            "margin over the mean {least_margin_ratio} to {largest_margin_ratio} times as large",
            "bounded_plans",
            right=True,
        ),
        _none_wrong(
            "the sum never lies below the quantile, so that plans judged by it are safe",
            "unsafe_bounds",
            "below it for {wrong} of {number} plans",
            "bounded_plans",
        ),
    ),
    Claim(
        "order-of-stages",
        "Decisions should be made in the order data, models, resources.",
        Place("Sec. IV, Fig. 3", figures="ablation-profiles"),
        *_orders(errors=False),
    ),
    Claim(
        "order-under-errors",
        "Making harder-to-estimate decisions less often, hence first, reduces the impact of errors.",
        Place("Sec. IV", figures="ablation-profiles"),
        *_orders(errors=True),
    ),
    Claim(
        "inverse-gamma",
        "The inverse gamma fits the improvements excellently: in almost all cases the p-value exceeds 0.05.",
        Place("Sec. VI-A, Fig. 4, left and centre", errata="E7", figures="digits-*-training-fits"),
        *_fits(),
    ),
    Claim(
        "good-fit",
        "A Kolmogorov-Smirnov p-value above 0.05 means a good fit.",
        Place("Sec. VI-A, footnote 2", errata="E7", figures="digits-*-training-fits"),
        Reading(
            "the test as printed rejects a true law in 3 to 7 % of samples",
            "estimation-tests",
            ask.on_record(
                lambda found: [0.03 <= found["size_as_printed"] <= 0.07],
                "rejects {size_as_printed:.1%} of {samples} true samples",
            ),
        ),
    ),
    Claim(
        "student-t",
        "Switching models raises the loss, by amounts that a Student-t fits.",
        Place("Sec. VI-A, Fig. 4, right", figures="digits-*-training-fits"),
        _switches("positive", "all jumps are positive"),
        _switches("as_printed", "the p-value of a Student-t as printed exceeds 0.05"),
        _switches("honest", "its honest p-value, by bootstrap, exceeds 0.05"),
    ),
    Claim(
        "independence",
        "The loss evolves by eq. (8) with independent samples, so that the quantile follows from their laws.",
        Place("Sec. IV-B; Sec. VI-A, eq. (8)", errata="E14", figures="digits-*-training-loss"),
        Reading(
            f"from the start of training: delivered within {KEPT:g} of promised",
            "promises-held-out",
            ask.on_record(
                lambda found: [found["paper_distance"] <= KEPT],
                "farthest of all plans from .90 and .95: {paper_distance:.3f}",
            ),
        ),
        Reading(
            f"from a known loss in mid-run: delivered within {KEPT:g} of promised",
            "promises-held-out",
            ask.on_record(
                lambda found: [found["paper_known_least"] >= 0.9 - KEPT],
                "instead of .90 some plans deliver {paper_known_least:.3f}",
            ),
        ),
    ),
    Claim(
        "prediction-sets",
        "Models that were trained dependably have smaller conformal sets.",
        Place("Sec. I; Sec. VII"),
        Reading(
            "smaller on average, by training longer",
            "prediction-sets",
            ask.on_record(lambda row: [row["mean_verdict"] == "smaller"], rows="comparisons"),
        ),
        Reading(
            "smaller by more than 5 % at equal work",
            "prediction-sets",
            ask.on_record(
                lambda found: [found["equal_work_change"] > 0.05],
                "the size changes by {equal_work_change:.1%} at most",
            ),
        ),
    ),
)
"""All claims, in the order of the report: abstract and evaluation, theorems, stages, real training."""


def about_figure(number: int) -> list[Claim]:
    """The claims whose place in the paper names a figure, such as ``Sec. VI-B, Figs. 5 and 6, left``."""
    named = {claim: _FIGURES.findall(claim.where) for claim in CLAIMS}
    return [claim for claim, lists in named.items() if str(number) in re.findall(r"\d+", " ".join(lists))]
