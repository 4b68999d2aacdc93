"""Policies under laws whose residuals stay together per run: planned on a proxy, certified by counting.

The *proxy* is the same law with independent residuals. First fixed plans that are left at the target are
counted (`depl.models.policy.counted`), then policies of the proxy for several prices of a failure, no stage
of which lasts longer than in the best fixed plan. What costs least, failures with their price, of those that
keep the promise is the answer. Work is counted, not time. Why capping is sound, and what choosing on the same
runs does to the promise, is said in `docs/policies`.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from depl.models.evaluation.traced_support import FEWEST_DONORS
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.wording import probability
from depl.models.policy.counted import Kind, counted, extents, kind_of, latest_starts
from depl.models.policy.dynamic import Table, careful_table, upper
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.prices import Price, priced, too_cheap
from depl.models.policy.process import Process
from depl.models.policy.request import Request, policy_of
from depl.models.policy.result import PolicyResult
from depl.models.policy.static import StaticPlan, static_plans, table_of
from depl.models.problem.instance import Instance
from depl.models.problem.traced_law import TracedLaw

PRICES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Prices of a failure that are tried, in that of the objective: set by hand. F under the proxy falls slowly
in the price, and is a fifth of what is counted on the first real law that was tried."""

PROXY_CELLS = 2_048
"""Of the grid of the proxy. Nothing that is certified rests on it, only which policies are counted: on three
problems of the case `closed-loop` these, 4,096 and 16,384 cells led to the same policies."""

_STEP = 2
"""Epochs between the lengths of fixed plans that are tried before those beside the best: set by hand. One
more or less changes few donors and little of the cost."""

_CLOSE = 0.05
"""Relative width of the enclosure of rho* under the proxy: set by hand. Its upper end gives the price of a
failure; the lower one is told, and nothing rests on it."""

_BESIDES = (
    f"besides, {FEWEST_DONORS} runs at least must have trained each stage for as long as the policy may (a "
    "loss before the first epoch is not needed: without one the policy decides from epoch 1 on)"
)
"""What else a policy takes, so that one refusal says it all."""

_MARGIN = (
    "as every combination is moved up by the margin for plans that were never run: fit with --care 0, which "
    "leaves that out, and certify the policy by fresh runs; or follow a plan that whole runs carry until the "
    "target is reached (depl solve, then depl policy decide PLAN --instance INSTANCE)"
)
"""What stands in the way of policies where the law has a margin, however much time there is."""


class Caps(NamedTuple):
    """Most epochs of a first stage, and of every stage after it."""

    first: int
    later: int


def capped(process: Process, caps: Caps) -> Process:
    """The process in which no stage lasts longer than the caps.

    Which runs lend residuals is decided by the longest stage that a policy may train, and a table over all
    losses trains very long stages where a loss would be most unusual.
    """
    return process.restricted(
        lambda place: place.age <= (caps.first if place.previous is None else caps.later)
    )


def proxy(instance: Instance) -> Instance:
    """The instance with residuals that are independent of each other, and without a margin for plans."""
    if instance.traced_law is None:
        return instance
    plain = {"residuals": "independent", "deviations": (), "care": None, "confidence": None, "diverged": 0}
    law = msgspec.structs.replace(instance.traced_law, settled_epochs=1, **plain)
    return instance.replace(traced_law=law)


def require_counted(traced: TracedLaw) -> None:
    """Refuse laws that say nothing of combinations of runs."""
    if traced.confidence is not None:
        raise NotCoveredError(
            "a confidence counts whole runs, and a policy combines stages of different runs: fit without a "
            "confidence, with --care 0 where the traces hold fewer plans than a margin takes (depl traces "
            f"import says so), and certify the policy by fresh runs; {_BESIDES}"
        )
    if traced.only_whole_runs:
        raise NotCoveredError(
            "the traces hold too few plans to tell by how much plans that were never run deviate, "
            "and a policy combines stages of different runs: fit with --care 0, which leaves their margin "
            f"out, so that its promise is bold, and certify it by fresh runs; {_BESIDES}"
        )


def uncounted(traced: TracedLaw | None) -> str:
    """What is in the way of a policy before any was counted; empty if only time is."""
    return f"no policy was counted yet, {_MARGIN}" if traced is not None and traced.deviations else ""


def counted_answers(request: Request, traced: TracedLaw, chain: Process) -> Iterator[PolicyResult]:
    """What is known after each policy that is counted, on the process of the proxy."""
    grid = Grid.of(chain, PROXY_CELLS)
    up, down = Expectations(grid, up=True), Expectations(grid, up=False)
    price = priced(chain, up, down, careful_table(chain, up), request.failure_cost, _CLOSE)
    if not price.decided:
        raise too_cheap(price)
    search = _Search(request, traced, price, grid)
    for plan, caps in search.among(list(static_plans(chain, up)), chain):
        search.count(chain, table_of(chain, grid, plan, price.rho), caps)
        yield search.answer()
    if request.rung == "optimal":
        process, before = search.narrowed(chain), math.inf
        for factor in PRICES:
            table = upper(process, up, factor * price.rho)
            if table.value(price.rho) > search.value:
                break  # the proxy is the bolder one, and those of greater prices cost more
            value = search.count(process, table, search.caps)
            yield search.answer()
            if value > before:
                break
            before = value
    yield search.answer(finished=True)


class _Search:
    """The best policy counted so far: its cost with failures, itself, and how long its stages are.

    Before there is one, ``caps`` are those of the policy that reaches the target most often.
    """

    def __init__(self, request: Request, traced: TracedLaw, price: Price, grid: Grid) -> None:
        self.request, self.traced, self.price, self.grid = request, traced, price, grid
        self.value, self.best = math.inf, request.answer(price)
        self.caps: Caps | None = None
        self.most = -1.0
        self.refusal: NotCoveredError | None = None

    def among(self, plans: Sequence[StaticPlan], chain: Process) -> Iterator[tuple[StaticPlan, Caps]]:
        """Fixed plans, every second length first, then all that switch where the best one does."""
        rho, longest = self.price.rho, max(len(plan.path) for plan in plans)
        ranked = [(plan, _caps_of(chain, plan)) for plan in sorted(plans, key=lambda item: item.value(rho))]
        for shift in range(_STEP):
            for plan, caps in ranked:
                if (longest - len(plan.path)) % _STEP != shift or plan.value(rho) > self.value:
                    continue  # the proxy is the bolder one
                if shift == 0 or (self.caps and caps.first == self.caps.first):
                    yield plan, caps

    def narrowed(self, chain: Process) -> Process:
        """No stage longer than those of the best plan, none that begins later than each run lends."""
        process, latest = capped(chain, self.caps) if self.caps else chain, dict[Kind, int]()
        for start in process.starts:
            for kind, epochs in latest_starts(self.traced.law, extents(process.nodes, start.node)).items():
                latest[kind] = min(epochs, latest.get(kind, epochs))
        return process.restricted(lambda place: place.start <= latest.get(kind_of(place), -1))

    def count(self, process: Process, table: Table, caps: Caps | None) -> float:
        """What the policy of a table costs with its failures; infinite if it breaks the promise [cost]."""
        policy = policy_of(self.request, process, self.grid, table, self.price, "observed")
        try:
            done = counted(policy, self.traced)
        except NotCoveredError as refusal:
            self.refusal = refusal
            return math.inf
        reached = float(done.reached)
        if math.isinf(self.value) and reached > self.most:
            self.caps = caps
        self.most = max(self.most, reached)
        if 1 - done.reached > self.request.instance.target.violation_budget:
            return math.inf
        value = done.cost + self.price.rho * float(1 - done.reached)
        if value < self.value:
            self.value, self.caps = value, caps
            below = reached if done.reached >= reached else max(0.0, reached - 2.0**-53)
            told = {"method": "counted", "cost": done.cost, "reached": below, "runs": done.runs}
            certificate = msgspec.structs.replace(policy.certificate, **told)
            policy = msgspec.structs.replace(policy, certificate=certificate)
            self.best = self.request.answer(self.price, policy)
        return value

    def answer(self, *, finished: bool = False) -> PolicyResult:
        """The best policy, or why there is none."""
        if self.best.policy is not None:
            return self.best
        if self.most < 0:
            if finished and self.refusal is not None:
                raise self.refusal
            return self.request.answer(self.price, reason=uncounted(self.traced))
        told = (
            "no policy that was tried reaches the target with probability "
            f"{probability(self.request.instance.target.quantile_level)} over the combinations of runs; the "
            f"most was {self.most:.4f}"
        )
        told += f", {_MARGIN}; or record" if self.traced.deviations else ". Record"
        reason = f"{told} more runs, raise maximum_loss, or lower quantile_level"
        return self.request.answer(self.price, reason=reason, cells=self.grid.cells)


def _caps_of(process: Process, plan: StaticPlan) -> Caps:
    """How long the stages of a plan with at most one switch are."""
    number, sites = process.starts[plan.start].node, []
    for action in plan.path:
        training = process.nodes[number].trainings[action]
        sites.append((training.model, training.cluster))
        number = training.following
    first = sum(site == sites[0] for site in sites)
    return Caps(first, len(sites) - first)
