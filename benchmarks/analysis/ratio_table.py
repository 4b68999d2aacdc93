"""Ratios of costs to proved optima or certified bounds, and a count of every way in which there is none.

A ratio to the optimum is formed only where the optimum is proved. Plans of other instances are compared with
the best certified bound, in figures of their own. What has no ratio is counted by what became of it; the fate
of every attempt is exactly one, so that the counts add up to the attempts.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import scipy

from depl.benchmarks.analysis.reference import Frame, below, frame_of
from depl.benchmarks.analysis.table import Cell, Table, cell
from depl.benchmarks.measure.attempt import Attempt
from depl.models.problem.laws import FloatArray

EXACTLY = 1e-6
"""Relative excess over the optimum up to which a plan counts as optimal."""
CONFIDENCE = 0.95
_RESAMPLES, _BATCH, _SEED = 2000, 250, 20240222
_SAME = 1e-13
"""Relative difference up to which means count as equal: some hundred roundings."""
_QUANTILES = {"median": 0.5, "quantile_90": 0.9, "quantile_99": 0.99}
FATES: Mapping[str, str] = {
    "compared": "a plan, with the proved optimum",
    "bounded": "a plan without a proved optimum, with a positive certified bound",
    "unbounded": "a plan, and neither",
    "infeasible": "a proof that there is no plan, which no plan contradicts",
    "false_infeasible": "the same where some method found a plan",
    "missed": "it ended without a plan, and another method found one",
    "open": "it ended without a plan, and nobody holds one",
    "timed_out": "the time limit came before a plan",
    "refused": "the method does not cover the instance",
    "rejected": "the verifier did not accept its plan",
    "failed": "an exception, or an error that the method reports",
    "hung": "it had to be killed after its deadline",
    "crashed": "its process died",
}
"""What became of an attempt; exactly one holds."""
_BY_ENDING = {name: name for name in ("refused", "rejected", "failed", "hung", "crashed")}
_BY_ENDING |= {"time_limit": "timed_out", "error": "failed"}


def trials(attempts: Iterable[Attempt]) -> Frame:
    """Every attempt with what is known of its question (`frame_of`), and what became of it (`judged`)."""
    return judged(frame_of(attempts))


def judged(rows: Frame) -> Frame:
    """Rows with references, beside their ``fate``, and ``bound_ratio``, their cost over the certified bound.

    And whether a plan contradicts their own bound or proof of optimality (``wrong_bound``), whether theirs
    is cheaper than what was called optimal (``below_optimum``), whether their answer is ``proved`` and
    nothing contradicts that, and whether they have no plan where there is one (``unserved``; what a method
    refuses, it never promised).
    """
    planned, proves = rows["cost"].notna(), rows["ending"] == "optimal"
    denies, feasible = rows["ending"] == "infeasible", rows["feasible"]
    bounded = planned & rows["optimum"].isna() & (rows["bound"] > 0)
    ended = rows["ending"].map(_BY_ENDING)
    fate = np.where(feasible, "missed", "open")
    for holds, name in (
        (ended.notna(), ended),
        (denies, np.where(feasible, "false_infeasible", "infeasible")),
        (planned, np.where(rows["optimum"].notna(), "compared", np.where(bounded, "bounded", "unbounded"))),
    ):
        fate = np.where(holds, name, fate)
    said = rows["lower_bound"].mask(proves, rows["cost"])
    wrong = ~denies & below(rows["cheapest"], said)
    return rows.assign(
        fate=fate,
        bound_ratio=(rows["cost"] / rows["bound"]).where(bounded),
        wrong_bound=wrong,
        below_optimum=(rows["called"] < np.inf) & below(rows["cost"], rows["called"]),
        proved=(proves & ~wrong) | (fate == "infeasible"),
        unserved=feasible & ~planned & (fate != "refused"),
    )


def tally(rows: Frame, rng: np.random.Generator | None = None) -> dict[str, Cell]:
    """All figures of one configuration on a group of instances, from the rows of `judged`.

    ``mean`` to ``largest`` are of ratios to proved optima, with ``bound_`` to certified bounds where no
    optimum is proved; None without any. Then each of `FATES` with its count; plans held when the time limit
    came, which are compared all the same (``at_limit``); and the others of `judged`. Without ``rng`` there is
    no interval of the mean.
    """
    ratios, seconds = rows["ratio"].dropna(), rows["wall_seconds"][rows["fate"] != "refused"]
    found = {
        "attempts": len(rows),
        "instances": rows["instance"].nunique(),
        **_spread(rows, "ratio", rng),
        "optimal_share": (ratios <= 1 + EXACTLY).mean(),
        **{f"bound_{name}": value for name, value in _spread(rows, "bound_ratio", rng).items()},
        **{fate: (rows["fate"] == fate).sum() for fate in FATES},
        "at_limit": ((rows["ending"] == "time_limit") & rows["cost"].notna()).sum(),
        "unserved": rows["unserved"].sum(),
        "proved_share": rows["proved"].mean(),
        "wrong_bounds": rows["wrong_bound"].sum(),
        "below_optimum": rows["below_optimum"].sum(),
        "median_seconds": seconds.median(),
        "largest_seconds": seconds.max(),
    }
    return {name: cell(value) for name, value in found.items()}


def _spread(rows: Frame, name: str, rng: np.random.Generator | None) -> dict[str, float | None]:
    """Mean with its interval, quantiles that are ratios which occur, and the largest."""
    values = rows.set_index("instance")[name].dropna()
    lower, upper = (None if rng is None else mean_interval(values, rng)) or (None, None)
    quantiles = {key: values.quantile(level, "higher") for key, level in _QUANTILES.items()}
    return {
        "mean": values.mean(),
        "mean_lower": lower,
        "mean_upper": upper,
        **quantiles,
        "largest": values.max(),
    }


def mean_interval(values: Frame, rng: np.random.Generator) -> tuple[float, float] | None:
    """A 95 % bootstrap interval of a mean: whole instances are drawn again, their trials together.

    ``values`` have the names of their instances. Trials of several seeds on one instance are not independent
    of each other; instances are. The interval is bias-corrected and accelerated (Efron 1987), because ratios
    are skewed. Equal values give an interval of width 0, which says that they were equal, not that the next
    one will be. None with fewer than two instances, or with an infinite value.
    """
    groups = values.groupby(level=0, sort=False)
    if groups.ngroups < 2 or not np.isfinite(values).all():
        return None
    sums, sizes = groups.sum().to_numpy(), groups.size().to_numpy(dtype=float)
    without = (sums.sum() - sums) / (sizes.sum() - sizes)
    if np.ptp(without) <= _SAME * np.abs(without).max():  # the acceleration would be 0 / 0
        return float(values.mean()), float(values.mean())

    def mean_of_groups(sums: FloatArray, sizes: FloatArray, axis: int = -1) -> FloatArray:
        mean: FloatArray = sums.sum(axis=axis) / sizes.sum(axis=axis)
        return mean

    settings = {"n_resamples": _RESAMPLES, "batch": _BATCH, "confidence_level": CONFIDENCE, "method": "BCa"}
    found = scipy.stats.bootstrap(
        (sums, sizes), mean_of_groups, vectorized=True, paired=True, rng=rng, **settings
    ).confidence_interval
    return float(found.low), float(found.high)


def ratio_table(attempts: Iterable[Attempt]) -> Table:
    """Ratios and counts (`tally`) per suite and configuration; intervals are the same every time."""
    rng, rows = np.random.default_rng(_SEED), trials(attempts)
    keys = ["suite", "configuration", "method", "meaning"]
    found = tuple((*key, *tally(own, rng).values()) for key, own in rows.groupby(keys, sort=False))
    return Table((*keys, *tally(rows[:0])), found)


def reference_table(attempts: Iterable[Attempt]) -> Table:
    """What is known of every question: its optimum or best bound, who proved it, and disputes."""
    rows = frame_of(attempts).replace({"bound": [np.inf, -np.inf], "cheapest": np.inf}, np.nan)
    proofs = rows[rows["stands"]].groupby("question")["configuration"].unique().map(" ".join)
    told = [
        (
            *(row.suite, row.instance, row.meaning, *(row.drawn or (None, None)), cell(row.optimum)),
            *(row.infeasible, cell(row.bound), cell(row.cheapest), row.disputed),
            proofs.get(row.question, ""),
        )
        for row in rows.drop_duplicates(["suite", "version", "instance", "meaning", "drawn"]).itertuples()
    ]
    columns = ("suite", "instance", "meaning", "scenarios", "seed", "optimum", "infeasible", "bound")
    return Table((*columns, "cheapest", "disputed", "proved_by"), tuple(told))
