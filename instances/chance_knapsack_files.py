"""Chance-constrained knapsacks in a plain format of our own, after that of ordinary ones.

The first line holds the number of items n, the capacity and the probability or the safety factor; then follow
n lines with value, mean and variance of the weight of an item. Blank lines mean nothing::

    3 20 0.95
    10 6 1.5
    7 5 0
    12 9 2.25

A third number in [0.5, 1) is omega, the probability with which the weight has to fit. A third number above 1
is the factor z of the standard deviation in sum of means + z sqrt(sum of variances) <= capacity, so that
omega = Phi(z). Any other may be meant either way and is refused, unless it says what it is: ``omega=0.95``,
``z=1``. Values, means, variances and the capacity are read as exact decimals.

Published collections use the same format (Wang et al., github.com/AGNORT/SMKP, with the instances of Monaci,
Pferschy and Serafini, Computers & Operations Research 40 (2013) 2625-2631). Their headers announce one item
more than there is; ``fewer_items`` takes those that are there.
"""

from fractions import Fraction
from importlib import resources
from pathlib import Path

from scipy import special

from depl.instances.knapsack_files import Line, count_of, lines_of, numbers_of, published_optima
from depl.instances.reductions.chance import ChanceKnapsack
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted

_FOLDER = resources.files("depl.instances") / "data" / "robust_knapsack"

LARGEST_SAFETY = 7.0
"""Phi of more leaves less than 1e-12 of probability."""


def read_chance_knapsack(path: str | Path, fewer_items: bool = False) -> ChanceKnapsack:
    """The chance-constrained knapsack of a file.

    Parameters
    ----------
    fewer_items : bool
        Whether a file with fewer items than its first line announces is taken as it is.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, or with the line that is wrong.
    """
    head, *rest = lines_of(path)
    kind, _, digits = head.words[-1].rpartition("=")
    bare = Line(head.source, head.number, (*head.words[:-1], digits))
    number, capacity, third = numbers_of(bare, ("number of items", "capacity", "omega"))
    count = count_of(head, number)
    level = _level(head, kind, third)
    short = 0 < len(rest) < count
    if len(rest) != count and not (short and fewer_items):
        place = rest[count] if len(rest) > count else (rest or [head])[-1]
        way = ", or take those that are there (fewer_items=True, --fewer-items)" if short else ""
        raise place.refuse(
            f"{counted(len(rest), 'item')}; announced: {count}; correct the number of items{way}"
        )
    rows = [numbers_of(line, ("value", "mean", "variance")) for line in rest]
    values, means, variances = zip(*rows, strict=True)
    return ChanceKnapsack(values, means, variances, capacity, level)


def shipped_robust_knapsacks() -> tuple[str, ...]:
    """Names of the published knapsacks that are shipped; their source and licence stand beside them."""
    return tuple(
        sorted(item.name.removesuffix(".txt") for item in _FOLDER.iterdir() if item.name.endswith(".txt"))
    )


def shipped_robust_knapsack(name: str) -> tuple[ChanceKnapsack, Fraction]:
    """A published knapsack by its name, and its published optimum.

    Raises
    ------
    InvalidInputError
        If there is none of that name; the message lists those that exist.
    """
    known = shipped_robust_knapsacks()
    if name not in known:
        raise InvalidInputError(f"no shipped knapsack {name!r}; {advice(name, known)}")
    with resources.as_file(_FOLDER / f"{name}.txt") as path:
        return read_chance_knapsack(path, fewer_items=True), published_optima(_FOLDER)[name]


def announced_items(path: str | Path) -> int:
    """How many items the first line of a file announces."""
    head = next(iter(lines_of(path)))
    return count_of(head, numbers_of(Line(head.source, head.number, head.words[:1]), ("number of items",))[0])


def _level(head: Line, kind: str, third: Fraction) -> float:
    """The level omega, from a probability or a factor of the standard deviation."""
    if kind == "omega" or (not kind and 0.5 <= third < 1):
        if 0.5 <= third < 1:
            return float(third)
        raise head.refuse(f"omega is {float(third):g}; give a probability from 0.5 to below 1")
    if kind == "z" or (not kind and third > 1):
        if third <= LARGEST_SAFETY:
            return float(special.ndtr(float(third)))
        message = f"the factor z is {float(third):g}; give one up to {LARGEST_SAFETY:g}, or omega below 1"
        raise head.refuse(message)
    if kind:
        raise head.refuse(f"{head.words[-1]!r} names neither omega nor z; write omega=0.95 or z=1.645")
    meant = f"{float(third):g}"
    raise head.refuse(
        f"the third number, {meant}, may be omega or the factor z of the standard deviation: write z={meant} "
        f"for a probability of {float(special.ndtr(float(third))):.6g}, or omega=... from 0.5 to below 1"
    )
