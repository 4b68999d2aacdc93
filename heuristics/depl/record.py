"""The wording of the decisions of ``depl``: what was chosen, what came of it, why it went back."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from depl.heuristics.depl.models import Candidate
from depl.models.foundation.wording import counted, number, probability
from depl.models.problem.instance import Instance, Target
from depl.models.solving.decisions import Decision, Stage
from depl.models.solving.result import Outcome, Termination

_MOST_WORDS = 6
"""Datasets, and clusters, named in a decision."""
_MOST_FAILURES = 40
"""Failed choices of data that are told one by one."""


class Record:
    """Decisions in the order in which they were taken."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._decisions: list[Decision] = []
        self._failures = 0
        self._lowest: tuple[float, str] | None = None
        self._obstacle = ""

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """All of them; failures beyond the first few are counted together."""
        hidden = self._failures - _MOST_FAILURES
        if hidden <= 0:
            return tuple(self._decisions)
        more = Decision(Stage.DATA, f"{hidden} more choices of data", "nothing cheaper", kept=False)
        return (*self._decisions[:-1], more, *self._decisions[-1:])

    def nothing_to_do(self) -> None:
        """l(0) meets the target."""
        text = "the loss meets the target as it is"
        self._decisions.append(Decision(Stage.MODELS, "no training", text, cost=0.0, lower_bound=0.0))

    def accepted(self, found: Candidate, target: Target) -> None:
        """A new incumbent: one decision of every stage."""
        instance = self._instance
        models = _counted(instance.models[m].name for m in found.models)
        clusters = _counted(instance.clusters[n].name for n in found.clusters)
        used = {n: found.data[n] for n in sorted(set(found.clusters))}
        met = f"certified to meet {number(target.maximum_loss)} at omega {probability(target.quantile_level)}"
        self._decisions += [
            Decision(Stage.DATA, self._data(used), "kept"),
            Decision(Stage.MODELS, models, f"{counted(len(found.models), 'epoch')}, {met}"),
            Decision(Stage.RESOURCES, clusters, "within the time limits: the new incumbent", cost=found.cost),
        ]

    def went_back(self, choice: Mapping[int, frozenset[str]], expected: float, cost: float) -> None:
        """A choice of data that led to nothing better."""
        self._failures += 1
        if self._failures > _MOST_FAILURES:
            return
        what = "no certified sequence" if math.isinf(cost) else f"nothing below {number(cost)}"
        if math.isfinite(expected):
            what += f", expected from {number(expected)}"
        self._decisions.append(Decision(Stage.DATA, self._data(choice), what, kept=False))

    def missed(self, found: Candidate) -> None:
        """A sequence that is not certified."""
        mean = found.loss.mean()
        if self._lowest is None or mean < self._lowest[0]:
            self._lowest = mean, _counted(self._instance.models[m].name for m in found.models)

    def nearest(self, quantile: float) -> None:
        """The lowest quantile that was found within the time limits."""
        target = self._instance.target
        self._obstacle = "resources: no sequence was found that keeps the time limits"
        if math.isfinite(quantile):
            self._obstacle = (
                f"models: target {number(target.maximum_loss)} at omega {probability(target.quantile_level)} "
                f"was not reached within the time limits; the best quantile found is about {number(quantile)}"
            )

    def unreachable(self, obstacle: str) -> None:
        """A proof that there is no plan."""
        self._obstacle = obstacle

    def listed(self, found: Outcome) -> None:
        """All plans were listed, as no sequence that was ranked met the target."""
        missing = found.plan is None
        came = "none of them meets the target" if missing else "the cheapest that meets the target is kept"
        lower = None if missing else found.lower_bound
        decision = Decision(Stage.MODELS, "every class of plans", came, kept=not missing, lower_bound=lower)
        self._decisions.append(decision)

    def reason(self, proved: bool) -> str:
        """Why there is no plan."""
        if self._obstacle:
            return self._obstacle
        if self._lowest is not None:
            return (
                f"models: no sequence is certified; the lowest expected loss tried is "
                f"{number(self._lowest[0])} ({self._lowest[1]})"
            )
        ended = "the search ended before it looked at a sequence"
        return f"models: {'no plan reaches the target' if proved else ended}"

    def stopped(self, termination: Termination, cost: float, lower: float, left: float) -> None:
        """Why the loop ended with its incumbent."""
        texts = {
            Termination.OPTIMAL: "the proved bound reaches the incumbent",
            Termination.GAP_REACHED: "the wanted gap is proved",
            Termination.TIME_LIMIT: "the time is up",
            Termination.INTERRUPTED: "interrupted",
        }
        rest = f"what is left is expected to cost at least {number(min(left, cost))}"
        what = texts.get(termination, rest if left < cost else "what is left is expected to cost as much")
        decision = Decision(Stage.DATA, "no further choice of data", what, cost=cost, lower_bound=lower)
        self._decisions.append(decision)

    def _data(self, choice: Mapping[int, frozenset[str]]) -> str:
        parts = []
        for n, chosen in sorted(choice.items()):
            names = [item.name for item in self._instance.datasets if item.name in chosen]
            listed = ", ".join(names) if len(names) <= _MOST_WORDS else f"{len(names)} datasets"
            parts.append(f"{listed} on {self._instance.clusters[n].name}")
        hidden = len(parts) - _MOST_WORDS
        return "; ".join(parts[:_MOST_WORDS]) + (f"; and {hidden} more" if hidden > 0 else "")


def _counted(names: Iterable[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in Counter(names).items())
