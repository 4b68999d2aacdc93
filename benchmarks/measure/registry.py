"""What a study is: tasks, what answers one, and what is told of all answers, with goals written beforehand.

A study that measures names its tasks by parameters, answers each by ``run``, and makes the values of its
record by ``figures`` from tasks and answers alone. One that sweeps has ``draws`` and ``configurations``:
every instance by every configuration and seed is a task, and to solve it is to answer it. A task runs in a
process besides this one, or on a worker elsewhere, and what came of it is an attempt
(`depl.benchmarks.measure.attempt`).
"""

import itertools
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.scenarios.draws import Scenarios
from depl.models.solving.methods import Registered, find
from depl.models.solving.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = r"[a-z0-9]+(?:[-_.][a-z0-9]+)*"
"""Of names of studies, as a regular expression: files are called after them."""

ANSWERED = "answered"
"""How a task of a study that measures ends, if it answers."""

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, "==": operator.eq, ">=": operator.ge, ">": operator.gt}
)

Row = Mapping[str, Any]
"""A task and its answer: the parameters, what ``run`` returned, and ``ending``, ``reason`` and
``peak_gibibytes`` of the attempt."""
Tasks = Callable[[np.random.Generator, bool], Iterable[Mapping[str, Any]]]
Run = Callable[[Mapping[str, Any]], Mapping[str, object]]
Figures = Callable[[Sequence[Row]], Mapping[str, object]]
Picture = Callable[[Mapping[str, Any]], "Figure"]
"""Makes the figure of a study from the values of its record."""
Label = str | int | float | bool
Measure = Callable[["Draw", Instance, Result], Mapping[str, float | None]]
Told = Callable[[Instance, Scenarios | None, Result], Mapping[str, Any]]
Made = Instance | tuple[Instance, Scenarios]


class Goal(NamedTuple):
    """One figure that a study is judged by: its name among the values, and what is promised of it.

    The measured value has to stand to the threshold, in its own unit, as the comparison says, one of
    `COMPARISONS`; 1 with ``==`` is for a yes-or-no figure.
    """

    name: str
    sentence: str
    comparison: str
    threshold: float

    def met_by(self, measured: object) -> bool:
        """Tell whether ``measured`` reaches the goal; what is not a number, NaN included, does not."""
        value = as_number(measured)
        return (
            value is not None
            and not math.isnan(value)
            and COMPARISONS[self.comparison](value, self.threshold)
        )

    def check(self, study: str) -> None:
        """Refuse a comparison that is unknown, or a threshold that is no finite number."""
        where, threshold = f"goal {self.name!r} of study {study!r}", as_number(self.threshold)
        if self.comparison not in COMPARISONS:
            raise InvalidInputError(
                f"{where}: comparison {self.comparison!r} is unknown; take {' '.join(COMPARISONS)}"
            )
        if threshold is None or not math.isfinite(threshold):
            raise InvalidInputError(f"{where}: threshold {self.threshold!r} has to be a finite number")


@dataclass(frozen=True)
class Draw:
    """One instance of a study that sweeps.

    ``name`` is unique in the study, such as ``paper-alexnet-9``, and names the instance in results for good;
    ``labels`` are what tables group by and figures have on their axes. ``build`` makes the instance, the same
    one whenever and wherever it is called; with its own scenarios, which methods that count take, as a pair.
    """

    name: str
    labels: Mapping[str, Label]
    build: Callable[[], Made] = field(repr=False, compare=False)

    def made(self) -> tuple[Instance, Scenarios | None]:
        """The instance, and its own scenarios if it has some."""
        found = self.build()
        return found if isinstance(found, tuple) else (found, None)


@dataclass(frozen=True)
class Configuration:
    """A registered method and how it is run.

    It may take ``time_limit`` wall seconds, and an attempt is killed some time after that; ``gap``,
    ``scenarios``, ``options`` and ``looks`` are as of `depl.models.solving.solve.solve`. ``label`` is the
    name in tables and figures, the method's own unless given. ``own`` is the method itself, of a study that
    no other solve may ask for by its name.
    """

    method: str
    time_limit: float = 60.0
    gap: float = 0.0
    scenarios: int | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    label: str = ""
    own: Registered | None = None
    looks: int | None = None

    def __post_init__(self) -> None:
        if not self.time_limit > 0:
            raise InvalidInputError(
                f"configuration of {self.method!r}: time_limit must be positive, not {self.time_limit}"
            )
        object.__setattr__(self, "label", self.label or self.method)

    @property
    def solver(self) -> Registered:
        """The method that it runs."""
        return self.own or find(self.method)


@dataclass(frozen=True)
class Study:
    """One benchmark: what is run, and what it is expected to show.

    Parameters
    ----------
    name : str
        Lower-case words joined by hyphens, underscores or dots; names the files of results.
    summary : str
        One sentence on what is measured.
    goals : tuple of Goal
        Plain tuples (name, sentence, comparison, threshold) are accepted as well.
    seed : int or None, default 0
        Seed of the generator, so that a run can be repeated. None: the operating system draws one at every
        recording, so that nothing can have been tuned to what the study draws; the record keeps the seed, and
        what earlier recordings measured.
    draw : callable, optional
        Makes the figure of the study from the values of a record, and from nothing else.
    tasks : callable, optional
        Of a study that measures. Takes a random generator and whether this is a smoke run (as small as
        possible, figures of no importance), and yields the parameters of each task: what JSON holds, seeds
        among it, no two alike.
    run : callable, optional
        Takes the parameters of a task, as JSON gives them back, and returns its answer by name, which JSON
        holds, too. What ends by ``seconds`` or ``gibibytes`` is of the clock and not compared when it is
        asked again.
    figures : callable, optional
        Makes the values, those of the goals among them, from a `Row` for every task, in their order.
    seconds : float, optional
        Wall seconds that a task may take; its process is killed then, and ``ending`` says ``hung``. With it,
        ``figures`` gets rows without answer (``ending`` is not ``answered``); without it these are refused.
    fresh : bool
        Whether every task gets a process in which none was run before.
    draws : callable, optional
        Of a study that sweeps. Returns the draws, in the order in which they are run. Must be quick:
        instances are built by workers.
    configurations : sequence of Configuration
        Their labels must differ.
    seeds : tuple of int
        Seeds of methods that draw; results of all are kept.
    measure : callable, optional
        Takes further figures of an attempt that has a result, in the worker; they must not depend on time.
    version : int
        Raised when the instances or configurations of a name change, so that old results are not mixed in.
    asks : callable, optional
        Whether a draw is asked a configuration; all are, without it.
    tells : callable, optional
        What is kept of a result besides, to be compared when it is asked again.

    Raises
    ------
    InvalidInputError
        If a name, a comparison, a threshold or the configurations cannot be used.
    """

    name: str
    summary: str
    goals: tuple[Goal, ...] = ()
    run: Run | None = None
    seed: int | None = 0
    draw: Picture | None = None
    tasks: Tasks | None = None
    figures: Figures | None = None
    seconds: float | None = None
    fresh: bool = False
    draws: Callable[[], Sequence[Draw]] | None = field(default=None, repr=False)
    configurations: tuple[Configuration, ...] = ()
    seeds: tuple[int, ...] = (0,)
    measure: Measure | None = field(default=None, repr=False)
    version: int = 1
    asks: Callable[[Draw, Configuration], bool] = field(default=lambda draw, asked: True, repr=False)
    tells: Told | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "goals", tuple(Goal(*goal) for goal in self.goals))
        goals, labels = ([goal.name for goal in self.goals], [item.label for item in self.configurations])
        by_tasks = None not in (self.tasks, self.run, self.figures)
        for right, needed in (
            (re.fullmatch(NAME, self.name), "a usable name: take lower-case words joined by hyphens"),
            (len(set(goals)) == len(goals), f"goals of different names, not {', '.join(goals)}"),
            (
                by_tasks + self.sweeps == 1 and (self.run is None) == self.sweeps,
                "either tasks, run and figures, to measure, or draws, to sweep",
            ),
            (
                not self.sweeps or (labels and len(set(labels)) == len(labels)),
                f"configurations of different labels, not {labels}",
            ),
        ):
            if not right:
                raise InvalidInputError(f"study {self.name!r} needs {needed}")
        for goal in self.goals:
            goal.check(self.name)

    @property
    def sweeps(self) -> bool:
        """Whether it consists of draws and configurations; the others measure."""
        return self.draws is not None

    def instances(self) -> Sequence[Draw]:
        """The draws of a study that sweeps; none of another."""
        return [] if self.draws is None else self.draws()

    def questions(
        self, draws: Sequence[Draw], configurations: Sequence[Configuration]
    ) -> Iterator[tuple[Draw, Configuration, int]]:
        """What is asked of some draws by some configurations: instance by instance."""
        for draw, configuration in itertools.product(draws, configurations):
            if self.asks(draw, configuration):
                for seed in self.seeds:
                    yield draw, configuration, seed

    def values(self, rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
        """The values of a study that measures, all tasks run in this process."""
        if self.run is None or self.tasks is None or self.figures is None:
            raise InvalidInputError(f"study {self.name!r} sweeps; its attempts are made by 'depl bench run'")
        tasks = [plain(self.name, task) for task in self.tasks(rng, smoke)]
        answers = [{**task, **plain(self.name, self.run(task)), "ending": ANSWERED} for task in tasks]
        return self.figures([{"reason": None, "peak_gibibytes": None, **row} for row in answers])


def plain(study: str, content: Mapping[str, object]) -> dict[str, Any]:
    """What JSON gives back of some values.

    Raises
    ------
    InvalidInputError
        If it cannot hold them.
    """
    try:
        text = msgspec.json.encode(dict(content), enc_hook=_from_numpy)
    except (TypeError, NotImplementedError) as error:
        raise InvalidInputError(f"study {study!r} returned what JSON cannot hold: {error}") from error
    return msgspec.json.decode(text, type=dict[str, Any])


def _from_numpy(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise NotImplementedError(f"a value of type {type(value).__name__}")


def as_number(value: object) -> float | None:
    """Return ``value`` as a float if it is a number or a truth value, of Python or NumPy, else None."""
    return float(value) if isinstance(value, int | float | np.number | np.bool_) else None
