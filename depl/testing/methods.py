"""What holds for every method, asked on small problems whose optimum is known."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.plan import Plan
from depl.models.solving.limits import Limits, Looks
from depl.models.solving.methods import Meaning, Proof, Registered, find
from depl.models.solving.result import Outcome, Result, Termination
from depl.models.solving.solve import VerificationError, solve
from depl.testing.changes import CHANGES, Change, Effect
from depl.testing.problems import BrokenPromiseError, Problem, problems

TOLERANCE = 1e-8
"""Relative difference of two costs that count as equal: each is proved up to 1e-9, and a search may stop at
half of that."""

MOMENTS = (1, 2, 4, 16, 64)
"""Looks at the clock after which a method is stopped."""

LOOKS_AFTERWARDS = 2
"""Looks that a method may take after an interrupt; one that goes on takes hundreds."""

Optimum = Callable[[Problem], tuple[float, float]]
"""Between which costs the least cost of a problem lies; infinite if no plan meets its target."""


def listed(problem: Problem) -> tuple[float, float]:
    """The optimum by the list of all plans; of a problem with scenarios, by its exact search."""
    name = "enumerate" if problem.scenarios is None else "scenario-search"
    found = solve(problem.instance, name, scenarios=problem.scenarios)
    return found.lower_bound, math.inf if found.cost is None else found.cost


@dataclass
class Asked:
    """A method, what is known of the problems, and what it has answered.

    Attributes
    ----------
    looks : int or None
        Looks at the clock that a solve may take, where a method that proves nothing takes long.
    """

    method: Registered
    optimum: Optimum = listed
    looks: int | None = None
    _known: dict[int, tuple[Problem, Result]] = field(default_factory=dict)

    def answer(self, problem: Problem) -> Result:
        """What it answers when nothing else is asked; remembered."""
        if id(problem) not in self._known:
            self._known[id(problem)] = problem, self.solve("an answer that is verified", problem)
        return self._known[id(problem)][1]

    def solve(
        self, relation: str, problem: Problem, method: Registered | None = None, **asked: object
    ) -> Result:
        """What `depl.solve` returns; what the verifier or a reader refuses is a broken promise."""
        given = {"looks": self.looks, "scenarios": problem.scenarios} | asked
        try:
            return solve(problem.instance, method or self.method, **given)  # type: ignore[arg-type]
        except NotCoveredError:
            raise
        except (VerificationError, InvalidInputError) as error:
            raise self.broken(relation, problem, str(error)) from error

    def broken(self, relation: str, problem: Problem, found: str) -> BrokenPromiseError:
        """An error with the name of the method."""
        return BrokenPromiseError(repr(self.method.name), relation, found, problem)

    @property
    def proves(self) -> bool:
        """Whether it was declared to prove optima, and has the time."""
        return self.method.proof is Proof.OPTIMUM and self.looks is None

    def require_sound(self, relation: str, problem: Problem, found: Result) -> None:
        """Nothing that it says contradicts the optimum."""
        low, high = self.optimum(problem)
        wrong = None
        if found.lower_bound > high + TOLERANCE * abs(high):
            wrong = f"says that no plan costs less than {found.lower_bound:.12g}; one costs {high:.12g}"
        elif found.cost is not None and found.cost < low - TOLERANCE * abs(low):
            wrong = f"has a plan of cost {found.cost:.12g}; none costs less than {low:.12g}"
        elif found.termination is Termination.OPTIMAL and cost_of(found) > high + TOLERANCE * abs(high):
            wrong = f"calls {cost_of(found):.12g} optimal; a plan costs {high:.12g}"
        elif found.termination is Termination.INFEASIBLE and not found.reason:
            wrong = "says that there is no plan, and no reason"
        if wrong:
            raise self.broken(relation, problem, wrong)


def cost_of(found: Result) -> float:
    """The cost of the plan; infinite where there is none."""
    return math.inf if found.cost is None else found.cost


def _proved(found: Result) -> bool:
    return found.termination in (Termination.OPTIMAL, Termination.INFEASIBLE)


def agrees_with_the_optimum(asked: Asked, problem: Problem) -> None:
    """Costs and bounds are on either side of the optimum, and who proves optima finds it."""
    relation, found = "the optimum", asked.answer(problem)
    asked.require_sound(relation, problem, found)
    low, high = asked.optimum(problem)
    if asked.proves and low == high and not _proved(found):
        raise asked.broken(relation, problem, f"ends as {found.termination.value!r}; {high:.12g} is optimal")
    if asked.method.proof in (Proof.OPTIMUM, Proof.BOUND) and found.lower_bound == -math.inf:
        raise asked.broken(relation, problem, "proves no bound, as it was registered to do")


def answers_alike(asked: Asked, problem: Problem) -> None:
    """The same seed gives the same plan and bound."""
    first, second = asked.answer(problem), asked.solve("the same answer", problem)
    if (first.plan, first.lower_bound) != (second.plan, second.lower_bound):
        was, is_now = ((item.cost, item.lower_bound) for item in (first, second))
        raise asked.broken("the same answer", problem, f"cost and bound are {was}, then {is_now}")


def changes_as_known(asked: Asked, problem: Problem) -> None:
    """Units, order, copies and limits do what they do to the optimum (`depl.testing.changes.CHANGES`)."""
    for name, change in CHANGES.items():
        changed = change.apply(problem)
        if changed is not None:
            _follows(asked, name, change, problem, changed)


def _follows(asked: Asked, name: str, change: Change, problem: Problem, changed: Problem) -> None:
    before = asked.answer(problem)
    try:
        after = asked.solve(name, changed)
    except NotCoveredError:
        return
    pairs = {"before": (cost_of(before) * change.factor, before.lower_bound * change.factor)}
    pairs["after"] = cost_of(after), after.lower_bound
    never_more = {Effect.EASIER: [("before", "after")], Effect.HARDER: [("after", "before")]}
    for more, less in never_more.get(change.effect, [("before", "after"), ("after", "before")]):
        cost, bound = pairs[more][0], pairs[less][1]
        if asked.proves and _proved(before) and _proved(after):
            bound = pairs[less][0]
        if bound > cost + TOLERANCE * abs(cost):
            told = f"{change.effect.value}; at least {bound:.12g} {less}, {cost:.12g} {more}"
            raise asked.broken(name, problem, told)
    same = math.isclose(pairs["before"][0], pairs["after"][0], rel_tol=TOLERANCE)
    if change.exact and not same:
        costs = f"{pairs['before'][0]:.12g}, {pairs['after'][0]:.12g}"
        raise asked.broken(name, problem, f"another plan is found: {costs}")


def stops_at_looks(asked: Asked, problem: Problem) -> None:
    """Whenever its time is over, it ends with what is true by then."""
    for moment in (0, *MOMENTS):
        asked.require_sound("no time left", problem, asked.solve("no time left", problem, looks=moment))


def stops_at_an_interrupt(asked: Asked, problem: Problem) -> None:
    """An interrupt at any look ends it at once, with what is true by then."""
    relation = "an interrupt"
    for moment in MOMENTS:
        press = _Press(moment)

        def run(instance: object, limits: Limits, press: _Press = press) -> Outcome | Plan | None:
            return asked.method.run(instance, replace(limits, looks=press))  # type: ignore[arg-type]

        found = asked.solve(relation, problem, replace(asked.method, run=run))
        asked.require_sound(relation, problem, found)
        if press.taken < moment:
            return
        if found.termination is not Termination.INTERRUPTED and not _proved(found):
            raise asked.broken(relation, problem, f"ends as {found.termination.value!r}")
        if press.taken > moment + LOOKS_AFTERWARDS:
            raise asked.broken(relation, problem, f"goes on for {press.taken - moment} looks")


class _Press(Looks):
    """Ctrl-C at one look at the clock; looks are counted."""

    def __init__(self, moment: int) -> None:
        super().__init__(left=10**9)
        self.moment, self.taken = moment, 0

    def spent(self) -> bool:
        """Take one look."""
        self.taken += 1
        if self.taken == self.moment:
            raise KeyboardInterrupt
        return False


def keeps_a_gap(asked: Asked, problem: Problem) -> None:
    """A gap that is good enough is kept, and ends a search that proves optima."""
    found = asked.solve("a gap", problem, gap=0.5)
    asked.require_sound("a gap", problem, found)
    good = _proved(found) or found.termination is Termination.GAP_REACHED
    if asked.proves and _proved(asked.answer(problem)) and not good:
        raise asked.broken("a gap", problem, f"ends as {found.termination.value!r}")


def goes_on_from_a_plan(asked: Asked, problem: Problem) -> None:
    """A plan that is known is not lost, and what is proved beside it is true."""
    start = asked.answer(problem).plan
    if asked.method.meaning is Meaning.SCENARIOS or start is None:
        return
    found = asked.solve("a plan to start from", problem, start=start)
    asked.require_sound("a plan to start from", problem, found)
    if asked.proves and _proved(asked.answer(problem)) and found.termination is not Termination.OPTIMAL:
        raise asked.broken("a plan to start from", problem, f"ends as {found.termination.value!r}")


def tells_true_progress(asked: Asked, problem: Problem) -> None:
    """Every row of progress lies on either side of the optimum."""
    low, high = asked.optimum(problem)

    def row(_: float, incumbent: float, bound: float) -> None:
        if incumbent < low - TOLERANCE * abs(low) or bound > high + TOLERANCE * abs(high):
            told = f"tells of {incumbent:.12g} and {bound:.12g}; the optimum lies in"
            raise asked.broken("progress", problem, f"{told} [{low:.12g}, {high:.12g}]")

    asked.solve("progress", problem, progress=row)


RELATIONS: dict[str, Callable[[Asked, Problem], None]] = {
    "the optimum": agrees_with_the_optimum,
    "the same answer": answers_alike,
    "changes": changes_as_known,
    "no time left": stops_at_looks,
    "an interrupt": stops_at_an_interrupt,
    "a gap": keeps_a_gap,
    "a plan to start from": goes_on_from_a_plan,
    "progress": tells_true_progress,
}
"""What is asked of every method, by the name that an error gives; ``changes`` give their own."""


def check_method(
    method: str | Registered,
    *,
    count: int = 10,
    seed: int = 0,
    given: Iterable[Problem] | None = None,
    looks: int | None = None,
    optimum: Optimum = listed,
) -> None:
    """Ask a method all that every method promises.

    On small problems whose optimum is known: plans that the verifier accepts and that cost no less than the
    optimum, bounds below it, equal answers to equal questions; what a change of units, order, copies or
    limits does to them; true answers whenever the time ends, at an interrupt (which ends it at once), with
    a gap that is good enough, from a known plan, and in every row of progress. Of a method that was
    registered with ``proof=Proof.OPTIMUM``, that it proves optima.

    Parameters
    ----------
    method : str or Registered
        A registered method.
    count, seed : int
        How many problems are drawn, and from which seed (`problems`). Those that the method does not cover
        (`NotCoveredError`) are passed over.
    given : iterable of Problem, optional
        Problems of your own, in the place of those drawn; small ones, as all their plans are listed.
    looks : int, optional
        Looks at the clock that one solve may take, for methods that take long; none is then asked to prove
        an optimum.
    optimum : callable
        Takes a problem, returns two costs between which the optimum lies. Unless given, ``enumerate`` and
        ``scenario-search`` are asked.

    Raises
    ------
    BrokenPromiseError
        With the first relation that does not hold, and the problem.
    InvalidInputError
        If the method covers none of the problems.
    """
    asked = Asked(method if isinstance(method, Registered) else find(method), optimum, looks)
    covered = 0
    for problem in problems(count, seed, meaning=asked.method.meaning) if given is None else given:
        try:
            asked.answer(problem)
        except NotCoveredError:
            continue
        covered += 1
        for relation in RELATIONS.values():
            relation(asked, problem)
    if not covered:
        message = f"method {asked.method.name!r} covers none of the problems; give others"
        raise InvalidInputError(message, "given")
