"""What planners of policies share: the price of a failure, and the file of a table."""

import math
from dataclasses import dataclass

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.dynamic import Options, Table, upper
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.process import Process
from depl.models.policy.ratio import CLOSE, excess_at, least_ratio, least_ratio_below, ratio_of
from depl.models.policy.result import PolicyResult, Rung
from depl.models.policy.tables import policy_nodes
from depl.models.problem.instance import Instance
from depl.models.problem.plan import ClusterData
from depl.models.problem.policy import Certificate, LossGrid, Policy, StateOfRun
from depl.models.solving.result import Solution, Termination

FAILURE_FACTOR = 1.5
"""Price of a failed run in least expected costs of a success, unless one is given. At 1 it may pay to give up
every run whose first loss makes a success cost more than that; at 1.5 no run was given up before its first
epoch on the real runs of the case `closed-loop`, whose record says what a success costs then."""

GRIDS = (1_024, 4_096, 16_384, 32_768, 65_536, 131_072, 262_144)
"""Cells of the grids, one after the other, of which each costs as many times as much as the one before. Gaps
fall about fourfold at first and twofold later (`paper-alexnet-deadline-9`: 7.8, 2.5, 1.2, 0.95 %), where a
grid of four times as many cells might not end in time: that instance has its 1 % after 48 of 60 CPU-s."""

_FIRST_WORK = 1e6
"""Most nodes times cells of the first grid, on which prices and fixed plans are looked for in many sweeps:
set by hand, half a second each."""

_SETTLED = 1e-3
"""Relative width of the enclosure of rho* at which it is not narrowed any more: set by hand, a tenth of the
default gap."""

_CLOSER = 3.0
"""How many times closer the lower end of rho* is tried on the next grid, where errors fall two- to fourfold:
set by hand."""

_CAREFUL = 1e6
"""Price of a failure, in the greatest cost of a run, at which a policy of (nearly) least failure is found: F
then differs from the least by 1e-6 at most, which the walk along the hull makes up for."""


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes
    ----------
    instance : Instance
    rung : "static" or "optimal"
    failure_cost : float or None
        None for `FAILURE_FACTOR` times the least expected cost of a success [cost].
    options : Options
    data : tuple of ClusterData
        As given; none for all.
    switch_epochs : tuple of int or None
    round_deadline : float or None
        Of each epoch, where it is less than that of the instance so that T_max is kept [time].
    restriction : str
        The class of policies that is planned in, in words, if not all of them are.
    """

    instance: Instance
    rung: Rung
    failure_cost: float | None
    options: Options
    data: tuple[ClusterData, ...]
    switch_epochs: tuple[int, ...] | None
    round_deadline: float | None = None
    restriction: str = ""

    @property
    def budget(self) -> float:
        """p = 1 - omega, rounded down."""
        return math.nextafter(float(self.instance.target.violation_budget), 0.0)


@dataclass(frozen=True)
class Price:
    """Of a failed run: rho, with the enclosure of rho*, if a success is paid for at all [cost]."""

    rho: float
    ratio: tuple[float, float] | None

    @property
    def decided(self) -> bool:
        """Whether rho is shown to be at least the least expected cost of a success."""
        return self.ratio is None or self.rho >= self.ratio[1]


def grids(process: Process) -> tuple[int, ...]:
    """Numbers of cells, from that on which prices are found."""
    few = [cells for cells in GRIDS if len(process.nodes) * cells <= _FIRST_WORK]
    return GRIDS[GRIDS.index(few[-1]) if few else 0 :]


def careful_table(process: Process, up: Expectations, options: Options) -> Table:
    """A policy of least failure, up to a millionth."""
    longest = sum(
        max(
            (training.price for number in numbers for training in process.nodes[number].trainings),
            default=0.0,
        )
        for numbers in process.by_epoch()
    )
    return upper(process, up, _CAREFUL * max(longest, 1e-9), options)


def priced(
    request: Request,
    process: Process,
    up: Expectations,
    down: Expectations,
    first: Table,
    close: float = CLOSE,
) -> Price:
    """The price of a failed run.

    Parameters
    ----------
    first : Table
        A policy that reaches the target.
    close : float
        As `depl.models.policy.ratio.least_ratio_below` has it.

    Raises
    ------
    InvalidInputError
        If the given one is below the least expected cost of a success for sure, or none is given and that is
        nothing.
    """
    found = least_ratio(process, up, first, request.options)
    ratio = least_ratio_below(process, down, found.upper, request.options, close), found.upper
    rho = FAILURE_FACTOR * found.upper if request.failure_cost is None else request.failure_cost
    if rho == 0:
        raise InvalidInputError(
            "a success costs nothing here, so no price of a failure follows from it; give a number",
            "failure_cost",
        )
    price = Price(rho, ratio)
    if rho < ratio[0]:
        raise too_cheap(price)
    return price


def too_cheap(price: Price) -> InvalidInputError:
    """The refusal of a price of a failure that is not shown to be worth a success."""
    low, high = price.ratio or (math.nan, math.nan)
    least = f"give at least {math.ceil(high * 1e4) / 1e4:.6g}"
    if price.rho < low:
        return InvalidInputError(
            f"a failed run at {price.rho:.6g} is cheaper than the least expected cost of a success, which is "
            f"{low:.6g} to {high:.6g}: not to train would be best; {least}",
            "failure_cost",
        )
    return InvalidInputError(
        f"a failed run at {price.rho:.6g} may be cheaper than the least expected cost of a success, which is "
        f"{low:.6g} to {high:.6g}, and not to train may then be best; {least}",
        "failure_cost",
    )


def refined(request: Request, process: Process, up: Expectations, down: Expectations, price: Price) -> Price:
    """The price on a finer grid: one step of either search, and the better end of each is kept."""
    if price.ratio is None:
        return price
    low, high = price.ratio
    if high - low <= _SETTLED * high:
        return price
    high = min(high, ratio_of(process, upper(process, up, high, request.options)))
    guess = max(low, high - (high - low) / _CLOSER)
    if excess_at(process, down, guess, request.options) >= 0:
        low = guess
    given = request.failure_cost
    return Price(FAILURE_FACTOR * high if given is None else given, (low, high))


def policy_of(
    request: Request, process: Process, grid: Grid, table: Table, price: Price, state: StateOfRun
) -> Policy:
    """A table as a file, with what is certified of it on the ledger."""
    target = request.instance.target
    return Policy(
        name=request.instance.name,
        instance=request.instance.fingerprint,
        maximum_loss=target.maximum_loss,
        quantile_level=target.quantile_level,
        maximum_epochs=process.epochs,
        round_deadline=request.round_deadline,
        rung=request.rung,
        state=state,
        failure_cost=price.rho,
        failure_cost_rule="ratio" if request.failure_cost is None else "given",
        multiplier=max(table.multiplier, price.rho),
        abandon_at_start=request.options.abandon_at_start,
        data=request.data,
        switch_epochs=request.switch_epochs,
        grid=LossGrid(
            scale=process.scale,
            origin=grid.origin,
            step=grid.step,
            cells=grid.cells,
            target=grid.target,
            limit=process.limit,
        ),
        start=0,
        nodes=policy_nodes(process, table),
        certificate=Certificate(
            method="ledger",
            cost=table.cost,
            reached=_reached(table),
            exactly=None if table.exact is None else str(1 - table.exact),
            ratio=price.ratio,
        ),
    )


def _reached(table: Table) -> float:
    """P(reached), rounded down."""
    failure = table.failure if table.exact is None else table.exact
    return 1.0 if failure == 0 else max(0.0, math.nextafter(float(1 - failure), 0.0))


def nothing(request: Request, price: Price | None, reason: str, cells: int = 0) -> PolicyResult:
    """No policy yet."""
    return PolicyResult(
        termination=Termination.EXHAUSTED,
        solution=Solution.NONE,
        policy=None,
        cost=None,
        reached=None,
        failure_cost=None if price is None else price.rho,
        ratio=None if price is None else price.ratio,
        multiplier=None,
        lower_bound=0.0,
        instance=request.instance,
        gap_wanted=0.0,
        cells=cells,
        seconds=0.0,
        reason=reason,
        restriction=request.restriction,
    )


def held(request: Request, policy: Policy, price: Price, lower_bound: float) -> PolicyResult:
    """A policy that keeps the promise."""
    return PolicyResult(
        termination=Termination.EXHAUSTED,
        solution=Solution.FEASIBLE,
        policy=policy,
        cost=policy.certificate.cost,
        reached=policy.certificate.reached,
        failure_cost=price.rho,
        ratio=price.ratio,
        multiplier=policy.multiplier,
        lower_bound=lower_bound,
        instance=request.instance,
        gap_wanted=0.0,
        cells=policy.grid.cells,
        seconds=0.0,
        restriction=request.restriction,
    )
