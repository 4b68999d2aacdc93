"""The registry of methods: what each is called, proves, needs and takes.

Nothing that takes time is imported, so that the list of methods is there at once.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.later import METHODS
from depl.models.foundation.names import advice
from depl.models.foundation.removed import removed
from depl.models.solving.defaults import DEFAULT_METHOD, DEFAULT_ON_SCENARIOS
from depl.models.solving.options import Option

if TYPE_CHECKING:  # they come with numpy and scipy
    from depl.models.problem.instance import Instance
    from depl.models.problem.plan import Plan
    from depl.models.solving.limits import Limits
    from depl.models.solving.result import Outcome


class Meaning(Enum):
    """What a method understands by the quantile in constraint (3)."""

    LAW = "law"
    """The law of the loss, by certified probabilities."""
    SCENARIOS = "scenarios"
    """A count of sampled scenarios (sample average approximation)."""


class Proof(Enum):
    """What a method can prove about the cost of its plans, given time."""

    OPTIMUM = "the optimum"
    """That no plan costs less, or that there is none."""
    BOUND = "a lower bound"
    """How much the cheapest plan costs at least."""
    NOTHING = "nothing"


class Method(Protocol):
    """A solution method; a bare `Plan` or None stands for "a plan without a bound"."""

    def __call__(self, instance: "Instance", limits: "Limits") -> "Outcome | Plan | None":
        """Solve ``instance`` within ``limits``; must leave KeyboardInterrupt to the caller or handle it.

        May leave `OutOfTimeError` to the caller while it holds nothing.
        """


@dataclass(frozen=True)
class Registered:
    """A method with its name, a sentence on what it does, and the options it takes.

    ``proof`` says what it can prove about cost, None if that was not declared, and ``needs`` what must be
    there besides what every method needs: solvers that it calls, or properties of the instance. ``memory``
    says whether it plans under laws with memory, too
    (`depl.models.problem.instance.Instance.traced_law`). ``version`` is raised when the name begins to mean
    another thing, so that results recorded under it before are not taken for its own
    (`depl.benchmarks.measure.old_forms`). ``shipped`` says whether the method comes with depl; what any other
    says about all plans is its own claim (`depl.models.solving.result.Result.claimed`). ``rows`` says whether
    it takes rows of the caller (`depl.models.solving.limits.Limits.rows`) and then returns no plan that they
    forbid.
    """

    name: str
    run: Method
    summary: str
    meaning: Meaning = Meaning.LAW
    listed: Callable[[], tuple[Option, ...]] = tuple
    memory: bool = False
    version: int = 1
    proof: Proof | None = None
    needs: str = ""
    shipped: bool = False
    rows: bool = False

    @property
    def options(self) -> tuple[Option, ...]:
        """What ``listed`` lists, which may import the method."""
        return self.listed()


_REGISTRY: dict[str, Registered] = {}


def _known() -> dict[str, Registered]:
    """All methods by name, those included that waited to be asked for."""
    METHODS.need()
    return _REGISTRY


def register(
    name: str,
    method: Method,
    summary: str = "",
    meaning: Meaning = Meaning.LAW,
    options: Sequence[str | Option] = (),
    memory: bool = False,
    version: int = 1,
    proof: Proof | None = None,
    needs: str = "",
    rows: bool = False,
) -> None:
    """Make ``method`` available under ``name`` in solve, benchmarks and reports.

    Options may be given by their names alone; the rest is as in `Registered`.

    Raises
    ------
    InvalidInputError
        If the name is taken by another method or no name, or the method no function.
    """
    given: tuple[object, object] = name, method
    if not (isinstance(given[0], str) and name and callable(given[1])):
        raise InvalidInputError(
            f"a method is registered by its name and its function, not {name!r:.80} and {method!r:.80}"
        )
    known = _known().get(name)
    if known is not None and known.run is not method:
        raise InvalidInputError(f"a method {name!r} is registered already; choose another name")
    sentence = summary or (method.__doc__ or "").strip().split("\n")[0]
    taken = tuple(Option(item) if isinstance(item, str) else item for item in options)
    shipped = known is not None and known.shipped
    _REGISTRY[name] = Registered(
        name, method, sentence, meaning, lambda: taken, memory, version, proof, needs, shipped, rows
    )


def ship(methods: Iterable[Registered]) -> None:
    """Register what comes with depl (`depl.built_in`)."""
    _REGISTRY.update({method.name: method for method in methods})


def is_shipped(name: str) -> bool:
    """Whether the method of that name comes with depl; no for a name that is not registered."""
    known = _known().get(name)
    return known is not None and known.shipped


def default_method(instance: "Instance") -> str:
    """Name of the method that solves an instance unless the caller names one."""
    return DEFAULT_METHOD if instance.declares_laws else DEFAULT_ON_SCENARIOS


def find(name: str) -> Registered:
    """The method of that name.

    Raises
    ------
    InvalidInputError
        If there is none; the message lists those that exist.
    """
    known = _known()
    if name not in known:
        gone = removed(f"method {name}")
        raise InvalidInputError(gone or f"no method {name!r}; {advice(name, sorted(known))}")
    return known[name]


def require_counting(name: str) -> Registered:
    """The method of that name, which counts scenarios; refuse one that works under the law."""
    method = find(name)
    if method.meaning is Meaning.LAW:
        able = ", ".join(known.name for known in registered() if known.meaning is Meaning.SCENARIOS)
        raise InvalidInputError(
            f"method {name!r} works under the law itself and takes no scenarios; leave them out, or choose a "
            f"method that counts them: {able}",
            "scenarios",
        )
    return method


def require_rows(method: Registered, rows: object) -> None:
    """Refuse rows that are no function, or that the method does not take."""
    if rows is None:
        return
    if not callable(rows):
        raise InvalidInputError(
            f"must be a function that adds constraints to a Pyomo model, not {rows!r:.80}", "rows"
        )
    if not method.rows:
        able = ", ".join(known.name for known in registered() if known.rows)
        raise InvalidInputError(
            f"method {method.name!r} has no program to add rows to; methods that take them: {able}", "rows"
        )


def require_covered(instance: "Instance", method: Registered) -> None:
    """Refuse an instance without laws where a method works under them, and memory where it knows none."""
    from depl.models.problem.laws import NO_LAW  # laws come with scipy

    if method.meaning is Meaning.LAW and not instance.declares_laws:
        raise NotCoveredError(NO_LAW)
    if instance.has_memory and not method.memory:
        able = ", ".join(known.name for known in registered() if known.memory)
        raise NotCoveredError(
            f"method {method.name!r} plans with independent increments, and the loss of {instance.name!r} "
            f"has memory (traced_law); methods that know that: {able}"
        )


def registered() -> tuple[Registered, ...]:
    """All methods, by name."""
    known = _known()
    return tuple(known[name] for name in sorted(known))
