"""Stage 1 as numbers: volumes, epoch durations and transfer costs; and how they follow from an instance.

    f(D) = K^(Q(D)) T^(D) + sum of beta_d over D,    T^(D) = t0 + sum of tau_d over D.

The paper decides about data under the least restrictive assumption on what comes later (Sec. IV): "the most
complex (i.e., full) version of the model", and "the cluster with the largest amount of available resources",
all of them committed. So, with the model m of largest demand and the cluster n of largest nodes * r(n),

    tau_d = demand(m) work(d) / (nodes r(n)),    t0 = s(m) / b(n),

and f is the training time; the paper's (7) counts no transfers. Where the instance gives tables of the
compute, m and the epoch are those with the most work on all data, and a table that holds whatever the data
adds its work to t0. What this leaves out: docs, *Dataset selection*.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depl.heuristics.data.epochs_needed import NeededEpochs, TabledEpochs, epochs_needed_by
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import compute
from depl.models.problem.instance import Instance, Model
from depl.models.problem.laws import FloatArray
from depl.models.problem.site_rules import most_capable_cluster


@dataclass(frozen=True, eq=False)
class SelectionProblem:
    """One problem of stage 1 over datasets 0 ... n - 1; make it with `selection_problem` or by hand.

    Attributes
    ----------
    names : tuple of str
        Of the datasets.
    needed : NeededEpochs or TabledEpochs
        K^ [epochs].
    volumes : ndarray
        q > 0, shape (n,) [data].
    durations : ndarray
        tau >= 0, shape (n,) [time].
    fixed_duration : float
        t0 >= 0 [as durations].
    transfers : ndarray
        beta >= 0, shape (n,) [as durations times epochs].
    constant : float
        Added to f: transfers of data that are used in any case.
    """

    names: tuple[str, ...]
    needed: NeededEpochs | TabledEpochs
    volumes: FloatArray
    durations: FloatArray
    fixed_duration: float
    transfers: FloatArray
    constant: float = 0.0

    def __post_init__(self) -> None:
        for name in ("volumes", "durations", "transfers"):
            numbers = getattr(self, name)
            if numbers.shape != (len(self.names),) or not np.isfinite(numbers).all() or (numbers < 0).any():
                raise InvalidInputError("must be finite and nonnegative, one per dataset", f".{name}")
        if (self.volumes == 0).any():
            raise InvalidInputError("must be positive", ".volumes")
        if not 0 <= self.fixed_duration < math.inf:
            raise InvalidInputError("must be finite and nonnegative", ".fixed_duration")
        if isinstance(self.needed, NeededEpochs) and self.needed.at(self.volumes.sum()) <= 0:
            raise InvalidInputError("K^ must be positive for all data", ".needed")

    @property
    def size(self) -> int:
        """n, the number of datasets."""
        return len(self.names)

    @property
    def priced(self) -> bool:
        """Whether any transfer costs something."""
        return bool(self.transfers.any())

    def values(self, members: NDArray[np.bool_]) -> FloatArray:
        """f of m sets given by their indicators, shape (m, n); infinite where K^ is."""
        length = self.fixed_duration + members @ self.durations
        if isinstance(self.needed, TabledEpochs):
            epochs = np.array(self.needed.epochs)[members @ (1 << np.arange(self.size))]
        else:
            epochs = self.needed.at(members @ self.volumes)
        return np.asarray(
            training_time(epochs, length) + members @ self.transfers + self.constant, dtype=float
        )

    def value(self, subset: frozenset[int]) -> float:
        """f of one set, with correctly rounded sums."""
        chosen = sorted(subset)
        length = math.fsum([self.fixed_duration, *self.durations[chosen].tolist()])
        if isinstance(self.needed, TabledEpochs):
            epochs = self.needed.epochs[sum(1 << place for place in chosen)]
        else:
            epochs = float(self.needed.at(math.fsum(self.volumes[chosen].tolist())))
        product = float(training_time(np.array(epochs), np.array(length)))
        return math.fsum([product, self.constant, *self.transfers[chosen].tolist()])

    def restricted(self, inside: frozenset[int], outside: frozenset[int]) -> "SelectionProblem":
        """The problem over the other datasets when some are used in any case and some never."""
        if isinstance(self.needed, TabledEpochs):
            raise InvalidInputError("K^ from a table has no volumes; enumerate its sets")
        fixed = inside | outside
        if len(fixed) < len(inside) + len(outside) or not fixed <= set(range(self.size)):
            raise InvalidInputError("datasets to use and to leave out must exist and be different")
        forced = sorted(inside)
        free = [place for place in range(self.size) if place not in fixed]
        return SelectionProblem(
            names=tuple(self.names[place] for place in free),
            needed=self.needed.with_present(math.fsum(self.volumes[forced].tolist())),
            volumes=self.volumes[free],
            durations=self.durations[free],
            fixed_duration=math.fsum([self.fixed_duration, *self.durations[forced].tolist()]),
            transfers=self.transfers[free],
            constant=math.fsum([self.constant, *self.transfers[forced].tolist()]),
        )


def training_time(epochs: FloatArray, length: FloatArray) -> FloatArray:
    """K^ T^; infinite where K^ is, even if an epoch takes no time."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(epochs), np.inf, epochs * length)


def selection_of_numbers(
    needed: NeededEpochs | TabledEpochs,
    volumes: ArrayLike,
    durations: ArrayLike,
    fixed_duration: float = 0.0,
    transfers: ArrayLike = 0.0,
) -> SelectionProblem:
    """A problem from bare numbers; datasets are named by their places.

    Parameters
    ----------
    needed : NeededEpochs or TabledEpochs
        K^ [epochs].
    volumes, durations, transfers : array_like
        q, tau and beta, shape (n,) or one number for all.
    fixed_duration : float
        t0.
    """
    sizes = np.atleast_1d(np.asarray(volumes, dtype=float))
    parts = [np.broadcast_to(np.asarray(part, dtype=float), sizes.shape) for part in (durations, transfers)]
    names = tuple(str(place) for place in range(len(sizes)))
    return SelectionProblem(names, needed, sizes, parts[0].copy(), float(fixed_duration), parts[1].copy())


def selection_problem(instance: Instance) -> SelectionProblem:
    """Stage 1 of an instance under the paper's least restrictive assumption."""
    place, model, epoch = most_capable_cluster(instance), *largest_model(instance)
    speed = place.nodes * place.capacity
    nothing = compute(instance, epoch, model.name, frozenset())
    works = [
        compute(instance, epoch, model.name, frozenset({dataset.name})) - nothing
        for dataset in instance.datasets
    ]
    return SelectionProblem(
        names=tuple(dataset.name for dataset in instance.datasets),
        needed=epochs_needed_by(instance),
        volumes=np.array([dataset.volume for dataset in instance.datasets]),
        durations=np.array(works) / speed,
        fixed_duration=model.size / place.bandwidth + nothing / speed,
        transfers=np.zeros(len(works)),
    )


def largest_model(instance: Instance) -> tuple[Model, int]:
    """The model with most work on all data at any epoch, and that epoch; the larger one of equals."""
    everything = frozenset(dataset.name for dataset in instance.datasets)
    last = max(instance.target.maximum_epochs, 1)
    candidates = [
        (compute(instance, epoch, model.name, everything), model.size, model, epoch)
        for model in instance.models
        for epoch in (range(1, last + 1) if model.compute else (1,))
        if epoch <= model.last_epoch
    ]
    best = max(candidates, key=lambda row: (row[0], row[1], -row[3]))
    return best[2], best[3]
