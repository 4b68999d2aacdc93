"""Which of the paper's qualitative claims a completion of Table I shows, from the attempts on it (E13).

A claim about two methods is asked under each documented reading of them: DepL as printed (``depl-paper``)
or with bounds (``depl``), best-exp greedy or cost-aware, a difference relative to best-exp or to DepL. What
the attempts do not decide, because a plan or a proof is missing, is None and not a refusal.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from depl.benchmarks.analysis.table import Cell, Table
from depl.benchmarks.sweep.attempt import Attempt

BETTER = 0.27
"""The abstract's "over 27 %", as a mean over the targets."""
CLOSELY = 0.05
"""How far above the optimum a plan may cost that "closely matches" it; the paper gives no figure."""
_DEPL, _BEST, _OPTIMUM = ("depl", "depl-paper"), ("expected-greedy", "expected-cost"), "exact"
_FAST, _MIDDLE, _SLOW = "fast-unsteady", "intermediate", "slow-steady"

Verdicts = Mapping[str, bool | None]


def claims_of_completion(attempts: Iterable[Attempt]) -> dict[str, bool | None]:
    """Whether the attempts on one completion show each claim; None where they do not decide.

    Parameters
    ----------
    attempts : iterable of Attempt
        Of one completion at two targets or more; their label ``target`` names it.

    Returns
    -------
    dict of str to (bool or None)
        By claim and reading, in a fixed order.
    """
    known = {(float(item.labels["target"]), item.task.configuration): item for item in attempts}
    targets = sorted({target for target, _ in known})
    cases = _Case(known, targets)
    found: dict[str, bool | None] = {}
    for depl, best in itertools.product(_DEPL, _BEST):
        costs = cases.pairs(depl, best)
        saved = None if costs is None else float(np.mean([1 - own / other for own, other in costs]))
        extra = None if costs is None else float(np.mean([other / own - 1 for own, other in costs]))
        found[f"over 27 % of {best} saved by {depl}"] = None if saved is None else saved > BETTER
        found[f"{best} over 27 % above {depl}"] = None if extra is None else extra > BETTER
        larger = None if costs is None else _excess(costs[-1]) > _excess(costs[0])
        found[f"{best} farthest above {depl} at the loosest target"] = larger
    for depl in _DEPL:
        costs = cases.pairs(_OPTIMUM, depl)
        near = None if costs is None else all(_excess(pair) <= CLOSELY for pair in costs)
        if costs is None and cases.misses(depl):
            near = False
        found[f"{depl} within 5 % of the optimum"] = near
    for name in (_OPTIMUM, *_DEPL):
        loose, tight = cases.epochs(targets[-1], name), cases.epochs(targets[0], name)
        found[f"{name} uses intermediate alone when loose"] = (
            None if loose is None else set(loose) == {_MIDDLE}
        )
        found[f"{name} uses all models when tight"] = (
            None if tight is None else set(tight) == {_FAST, _MIDDLE, _SLOW}
        )
    for best in _BEST:
        used = [cases.epochs(target, best) for target in targets]
        most = [row.get(_FAST, 0) == max(row.values()) for row in used if row]
        found[f"{best} uses fast-unsteady most"] = all(most) if len(most) == len(targets) else None
    return found


def completion_claims(attempts: Sequence[Attempt]) -> Table:
    """How many completions show each claim and reading, how many do not, and how many leave it open."""
    by_completion: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        if "completion" in attempt.labels:
            by_completion.setdefault(str(attempt.labels["completion"]), []).append(attempt)
    verdicts = [claims_of_completion(group) for group in by_completion.values()]
    names = list(dict.fromkeys(itertools.chain.from_iterable(verdicts)))
    rows: list[tuple[Cell, ...]] = [
        (name, *(sum(row[name] is verdict for row in verdicts) for verdict in (True, False, None)))
        for name in names
    ]
    return Table(("claim", "shown", "not shown", "open"), tuple(rows))


def together(verdicts: Verdicts, depl: str, best: str) -> bool | None:
    """Whether a completion shows all claims at once, under one reading of DepL and of best-exp."""
    asked = [
        f"over 27 % of {best} saved by {depl}",
        f"{best} farthest above {depl} at the loosest target",
        f"{depl} within 5 % of the optimum",
        f"{_OPTIMUM} uses intermediate alone when loose",
        f"{_OPTIMUM} uses all models when tight",
        f"{best} uses fast-unsteady most",
    ]
    answers = [verdicts[name] for name in asked]
    if False in answers:
        return False
    return None if None in answers else True


class _Case:
    """Attempts by target and configuration."""

    def __init__(self, known: Mapping[tuple[float, str], Attempt], targets: Sequence[float]) -> None:
        self.known = known
        self.targets = targets

    def held(self, target: float, name: str) -> Attempt | None:
        """The attempt if it holds a plan; for the optimum, if its plan is proved."""
        attempt = self.known.get((target, name))
        if attempt is None or not attempt.cost:
            return None
        return None if name == _OPTIMUM and not attempt.proved_optimal else attempt

    def pairs(self, one: str, other: str) -> list[tuple[float, float]] | None:
        """Costs of two configurations, target by target; None if one is missing anywhere."""
        found = []
        for target in self.targets:
            first, second = self.held(target, one), self.held(target, other)
            if first is None or second is None or first.cost is None or second.cost is None:
                return None
            found.append((first.cost, second.cost))
        return found

    def misses(self, name: str) -> bool:
        """Whether a configuration ended by itself without a plan where an optimum is proved."""
        return any(
            self.held(target, _OPTIMUM) is not None
            and (attempt := self.known.get((target, name))) is not None
            and attempt.cost is None
            and attempt.ending == "exhausted"
            for target in self.targets
        )

    def epochs(self, target: float, name: str) -> dict[str, int] | None:
        """Epochs by model, without those that are not used."""
        attempt = self.held(target, name)
        if attempt is None:
            return None
        return {model: count for model, count in attempt.epochs_by_model.items() if count}


def _excess(pair: tuple[float, float]) -> float:
    """By how much the second costs more, relative to the first."""
    return pair[1] / pair[0] - 1
