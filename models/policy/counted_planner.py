"""Policies under laws whose residuals stay together per run: planned on a proxy, certified by counting.

The *proxy* is the same law with independent residuals. First fixed plans that are left at the target are
counted (`depl.models.policy.counted`), then policies of the proxy for several prices of a failure, no stage
of which lasts longer than in the best fixed plan; at last the price is varied in ever smaller steps. What
costs least, failures with their price, of those that keep the promise is the answer. Work is counted, not
time. Why capping is sound, and what choosing on the same runs does to the promise, is said in
`docs/policies`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from depl.models.evaluation.traced_support import FEWEST_DONORS
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.wording import probability
from depl.models.policy.capped import Caps, begun_by, capped, lengths
from depl.models.policy.counted import Counted, counted, latest_starts
from depl.models.policy.dynamic import Table, certified, upper
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.planner import (
    Price,
    Request,
    careful_table,
    held,
    nothing,
    policy_of,
    priced,
    too_cheap,
)
from depl.models.policy.process import Process
from depl.models.policy.ratio import ratio_of
from depl.models.policy.result import PolicyResult
from depl.models.policy.stages import Kind, extents
from depl.models.policy.static import StaticPlan, actions_of, static_plans
from depl.models.problem.instance import Instance
from depl.models.problem.policy import Policy
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

_FINEST = 1.03
"""Least step of the local search over the price of a failure: set by hand. A step of 1.02 found nothing that
was cheaper by more than 0.2 % on the problems of the case `closed-loop`."""

_CLOSE = 0.05
"""Relative width of the enclosure of rho* under the proxy: set by hand. Its upper end gives the price of a
failure; the lower one is told, and nothing rests on it."""


_BESIDES = (
    f"besides, {FEWEST_DONORS} runs at least must have trained each stage for as long as the policy may (a "
    "loss before the first epoch is not needed: without one the policy decides from epoch 1 on)"
)
"""What else a policy takes, so that one refusal says it all."""

_MARGIN = (
    "Every combination is moved up by the margin for plans that were never run: fit with --care 0, which "
    "leaves that out, and certify the policy by fresh runs; or follow a plan that whole runs carry until the "
    "target is reached (depl solve, then depl policy decide PLAN --instance INSTANCE)"
)
"""What stands in the way of policies where the law has a margin, however much time there is."""


def proxy(instance: Instance) -> Instance:
    """The instance with residuals that are independent of each other, and without a margin for plans."""
    traced = instance.traced_law
    if traced is None:
        return instance
    plain = msgspec.structs.replace(
        traced,
        residuals="independent",
        deviations=(),
        care=None,
        confidence=None,
        settled_epochs=1,
        diverged=0,
    )
    return instance.replace(traced_law=plain)


def require_counted(traced: TracedLaw) -> None:
    """Refuse laws that say nothing of combinations of runs.

    Raises
    ------
    NotCoveredError
        With what to do.
    """
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
    return f"no policy was counted yet. {_MARGIN}" if traced is not None and traced.deviations else ""


@dataclass
class CountedPlanner:
    """Answers that become cheaper.

    Attributes
    ----------
    request : Request
    traced : TracedLaw
    process : Process
        Of the proxy.
    price : Price or None
        Known once it was found.
    search : _Search or None
        What was counted so far.
    """

    request: Request
    traced: TracedLaw
    process: Process
    price: Price | None = None
    search: "_Search | None" = None

    def answers(self) -> Iterator[PolicyResult]:
        """Policies that keep the promise as counted, each cheaper than the one before; or none."""
        grid = Grid.of(self.process, PROXY_CELLS)
        up, down = Expectations(grid, up=True), Expectations(grid, up=False)
        plans = list(static_plans(self.process, up))
        first = self._first_table(up, plans)
        self.price = priced(self.request, self.process, up, down, first, _CLOSE)
        if not self.price.decided:
            raise too_cheap(self.price)
        search = self.search = _Search(self.request, self.traced, self.process, self.price, up)
        yield from search.among_plans(plans)
        if self.request.rung == "optimal":
            yield from search.among_policies()
        if search.found is None or search.found.policy is None:
            yield nothing(self.request, self.price, search.reason(), grid.cells)

    def found_so_far(self) -> str:
        """What is in the way of a policy, as far as it was seen when the time was over; may be empty."""
        if self.search is not None and self.search.most >= 0:
            return self.search.reason()
        return uncounted(self.traced)

    def _first_table(self, up: Expectations, plans: Sequence[StaticPlan]) -> Table:
        """A fixed plan of about the least cost per success; if none succeeds, a policy of least failure."""
        able = [plan for plan in plans if plan.failure < 1]
        if able:
            plan = min(able, key=lambda item: item.cost / (1 - item.failure))
            actions = actions_of(self.process, up.grid, plan)
            found = certified(self.process, up, actions, plan.start, max(plan.cost, 1e-9))
            if ratio_of(self.process, found) < float("inf"):
                return found
        return careful_table(self.process, up, self.request.options)


@dataclass
class WideningPlanner:
    """Planners of one class of policies after the other, until one finds a policy that keeps the promise.

    Attributes
    ----------
    current : CountedPlanner
        That of the first class, later of that which is tried.
    further : iterator of CountedPlanner
        Made when they are asked for.
    """

    current: CountedPlanner
    further: Iterator[CountedPlanner]

    @property
    def request(self) -> Request:
        """What is asked for in the present class."""
        return self.current.request

    @property
    def price(self) -> Price | None:
        """Of a failure in it, once it was found."""
        return self.current.price

    def found_so_far(self) -> str:
        """As of a `CountedPlanner`."""
        return self.current.found_so_far()

    def answers(self) -> Iterator[PolicyResult]:
        """Those of the first class with a policy; before it what each class before is found to lack."""
        kept = False
        for found in self.current.answers():
            kept = kept or found.policy is not None
            yield found
        while not kept:
            following = next(self.further, None)
            if following is None:
                return
            self.current = following
            try:
                for found in following.answers():
                    kept = kept or found.policy is not None
                    yield found
            except NotCoveredError:  # longer stages, that too few runs lend to
                return


@dataclass
class _Search:
    """Policies counted so far.

    Attributes
    ----------
    best : float or None
        Least cost and price of failures of a policy that keeps the promise, as counted [cost].
    found : PolicyResult or None
        That policy.
    centre : Caps or None
        Those of that policy; before there is one, of that which reaches the target most often.
    most : float
        Greatest probability that was counted.
    refusal : NotCoveredError or None
        Why a policy could not be counted.
    last : float
        What the policy counted last costs with its failures; infinite if it breaks the promise [cost].
    """

    request: Request
    traced: TracedLaw
    process: Process
    price: Price
    up: Expectations
    best: float | None = None
    found: PolicyResult | None = None
    centre: Caps | None = None
    most: float = -1.0
    refusal: NotCoveredError | None = None
    last: float = float("inf")

    def among_plans(self, plans: Sequence[StaticPlan]) -> Iterator[PolicyResult]:
        """Fixed plans, every second length first, then all that switch where the best one does."""
        rho, longest = self.price.rho, self.request.instance.target.maximum_epochs
        caps = {plan: _caps_of(self.process, plan) for plan in plans}
        ranked = sorted(plans, key=lambda item: item.cost + rho * item.failure)
        thinned = [plan for plan in ranked if (longest - len(plan.path)) % _STEP == 0]
        for plan in thinned:
            yield from self._plan(plan, caps[plan])
        for plan in ranked:
            if (longest - len(plan.path)) % _STEP and self.centre and caps[plan].first == self.centre.first:
                yield from self._plan(plan, caps[plan])

    def _plan(self, plan: StaticPlan, caps: Caps) -> Iterator[PolicyResult]:
        rho = self.price.rho
        if self.best is not None and plan.cost + rho * plan.failure > self.best:
            return  # the proxy is the bolder one
        table = Table(actions_of(self.process, self.up.grid, plan), plan.start, plan.cost, plan.failure, rho)
        yield from self._counted(self.process, table, caps)

    def among_policies(self) -> Iterator[PolicyResult]:
        """Policies of the proxy whose stages are no longer than those of the best fixed plan."""
        caps = self.centre or lengths(self.process)
        process, latest = capped(self.process, caps), dict[Kind, int]()
        for start in process.starts:
            for kind, epochs in latest_starts(self.traced.law, extents(process.nodes, start.node)).items():
                latest[kind] = min(epochs, latest.get(kind, epochs))
        process = begun_by(process, latest)  # no stage begins later than that of every run that lends to it
        yield from self._capped(process, caps)
        if self.found is not None:
            yield from self._polished(process, caps)

    def _capped(self, process: Process, caps: Caps) -> Iterator[PolicyResult]:
        """For several prices of a failure, until what keeps the promise is no better than at the last one."""
        before = float("inf")
        for factor in PRICES:
            table = upper(process, self.up, factor * self.price.rho, self.request.options)
            if self.best is not None and table.value(self.price.rho) > self.best:
                return  # so are those of greater prices
            yield from self._counted(process, table, caps)
            if self.last > before:
                return
            before = self.last

    def _polished(self, process: Process, caps: Caps) -> Iterator[PolicyResult]:
        """A local search over the price of a failure, with ever smaller steps, from the best one so far."""
        rho, step = self.price.rho, PRICES[1] ** 0.5
        factor = self._factor()
        while step > _FINEST:
            for other in (factor / step, factor * step):
                if other >= 1:
                    table = upper(process, self.up, other * rho, self.request.options)
                    yield from self._counted(process, table, caps)
            if self._factor() == factor:
                step **= 0.5
            factor = self._factor()

    def _factor(self) -> float:
        """For which price of a failure the best policy was planned, in that of the objective."""
        policy = None if self.found is None else self.found.policy
        return 1.0 if policy is None else policy.multiplier / self.price.rho

    def _counted(self, process: Process, table: Table, caps: Caps) -> Iterator[PolicyResult]:
        """The policy of a table, if it keeps the promise and is the cheapest so far."""
        policy = policy_of(self.request, process, self.up.grid, table, self.price, "observed")
        self.last = float("inf")
        try:
            done = counted(policy, self.traced)
        except NotCoveredError as refusal:
            self.refusal = refusal
            return
        reached = float(done.reached)
        if self.best is None and reached > self.most:
            self.centre = caps
        self.most = max(self.most, reached)
        if 1 - done.reached > self.request.instance.target.violation_budget:
            return
        self.last = done.cost + self.price.rho * float(1 - done.reached)
        if self.best is None or self.last < self.best:
            self.best, self.centre = self.last, caps
            self.found = held(self.request, _with(policy, done), self.price, 0.0)
            yield self.found

    def reason(self) -> str:
        """Why there is no policy.

        Raises
        ------
        NotCoveredError
            If none could be counted.
        """
        if self.most < 0 and self.refusal is not None:
            raise self.refusal
        omega = self.request.instance.target.quantile_level
        told = (
            f"no policy that was tried reaches the target with probability {probability(omega)} over the "
            f"combinations of runs; the most was {max(self.most, 0.0):.4f}. "
        )
        if self.traced.deviations:
            told += f"{_MARGIN}. Or record"
        else:
            told += "Record"
        return f"{told} more runs, raise maximum_loss, or lower quantile_level"


def _caps_of(process: Process, plan: StaticPlan) -> Caps:
    """How long the stages of a plan with at most one switch are."""
    number, sites = process.starts[plan.start].node, []
    for action in plan.path:
        training = process.nodes[number].trainings[action]
        sites.append((training.model, training.cluster))
        number = training.following
    first = sum(site == sites[0] for site in sites)
    return Caps(first, len(sites) - first)


def _with(policy: Policy, done: Counted) -> Policy:
    """A policy with what was counted."""
    reached = float(done.reached)
    if done.reached < reached:
        reached = max(0.0, reached - 2.0**-53)
    certificate = msgspec.structs.replace(
        policy.certificate, method="counted", cost=done.cost, reached=reached, runs=done.runs
    )
    return msgspec.structs.replace(policy, certificate=certificate)
