"""P(not reached) of a policy on its ledger as a fraction, where noise and l(0) have finitely many values.

Sums in doubles are off by some units in the last place. That decides nothing but whether a promise is kept
that a policy keeps with equality; then it is worked out exactly, for processes small enough. The indices of
the ledger are whole numbers anyway, and probabilities are the decimals that were written.
"""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from depl.models.policy.dynamic import STOP, Table, failed
from depl.models.policy.grid import Grid, rounded_indices
from depl.models.policy.process import Process, Training
from depl.models.problem.epochs import Term
from depl.models.risk.discrete import decimal

_MOST_MOVES = 100_000
"""Most moves of the chain that are followed in fractions: set by hand, about a second."""

Moves = tuple[tuple[int, Fraction], ...]
"""By how many steps a noise moves the index, and with which probability."""


def exact_failure(process: Process, grid: Grid, table: Table) -> Fraction | None:
    """P(not reached) of the chain; None where it has too many moves, or a law with a density."""
    start = process.starts[table.start]
    first = np.maximum(grid.indices(start.losses, up=True), 0).tolist()
    here: dict[int, dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for index in first:  # equally likely
        here[start.node][index] += Fraction(1, len(first))
    missed, followed = Fraction(0), 0
    noises: dict[tuple[Term, ...], Moves | None] = {}
    for number, node in enumerate(process.nodes):  # later epochs stand behind earlier ones
        fails = failed(node, grid) > 0
        for index, mass in here.pop(number, {}).items():
            action = STOP if index >= grid.cells else int(table.actions[number][index])
            if action == STOP:
                missed += mass if index >= grid.cells or fails[index] else 0
                continue
            training = node.trainings[action]
            noise = training.kernel.noise
            if noise not in noises:
                noises[noise] = _moves(noise, grid)
            moves = noises[noise]
            followed += 0 if moves is None else len(moves)
            if moves is None or followed > _MOST_MOVES:
                return None
            image = _image(training, grid, index)
            for change, share in moves:
                here[training.following][max(0, image + change)] += mass * share
    return missed


def _image(training: Training, grid: Grid, index: int) -> int:
    kernel = training.kernel
    return int(grid.indices(kernel.shift + kernel.retention * grid.values[index : index + 1], up=True)[0])


def _moves(noise: tuple[Term, ...], grid: Grid) -> Moves | None:
    """The law of the noise, rounded up; None if it has a density or too many values."""
    values, shares = [0.0], [Fraction(1)]
    for term in noise:
        if not term.law.has_atoms or len(values) * len(term.law.atoms()[0]) > _MOST_MOVES:
            return None
        own = list(_atoms(term))
        values = [value + moved for value in values for moved, _ in own]
        shares = [share * part for share in shares for _, part in own]
    found: dict[int, Fraction] = defaultdict(Fraction)
    indices = rounded_indices(np.array(values), grid.step, up=True).tolist()
    for index, share in zip(indices, shares, strict=True):
        found[index] += share
    return tuple(found.items())


def _atoms(term: Term) -> Iterator[tuple[float, Fraction]]:
    """Values of coefficient * X, and their probabilities as written."""
    written = [(value, decimal(weight)) for value, weight in term.law.decimals()]
    total = sum((weight for _, weight in written), Fraction(0))
    for value, weight in written:
        yield term.coefficient * value, weight / total
