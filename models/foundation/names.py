"""What a user may have meant by a name that is not known: one rule for everything that is chosen by name.

It stands below all that takes time to import, as commands and options are looked up by it, too.
"""

import re
from collections.abc import Collection
from difflib import SequenceMatcher, get_close_matches
from itertools import islice

_CLOSE, _AS_CLOSE = 0.65, 0.01
"""Letters in common of all letters of two names, at least, and how much less is suggested beside the nearest:
set by hand. One letter of three may be wrong."""

_SHORTEST_PART = 3
"""Letters of a part by which longer names are found: fewer are in too many of them."""

_LONGEST = 100
"""Characters of a name that is compared: set by hand. Comparing takes time as the product of both lengths,
and nobody mistypes a longer one."""

_MOST = 10_000
"""Names that are compared at most, and listed at most in an error, which is shortened: set by hand. A file
may hold a million keys."""

_SUGGESTED, _LISTED = 3, 24
"""Names that are suggested at most, and listed at most beside a suggestion: a screen of a terminal."""


def nearest(name: str, known: Collection[str]) -> tuple[str, ...]:
    """The known names that are nearest to one that is not known, at most three; none if all are far.

    Capitals and signs between words do not count. Where none is like it, names of which it is a part.

    Examples
    --------
    >>> nearest("slove", ["solve", "replan"])
    ('solve',)
    >>> nearest("Paper_AlexNet9", ["paper-alexnet-7", "paper-alexnet-9"])
    ('paper-alexnet-9',)
    >>> nearest("show", ["solve", "policy show"])
    ('policy show',)
    >>> nearest("magic", ["milp", "depl"])
    ()
    """
    if len(name) > _LONGEST:
        return ()
    written = _folded(name)
    names = {_folded(other): other for other in islice(known, _MOST) if len(other) <= _LONGEST}
    found = get_close_matches(written, names, _SUGGESTED, _CLOSE)
    ratios = [SequenceMatcher(None, other, written).ratio() for other in found]
    found = [other for other, ratio in zip(found, ratios, strict=True) if ratio >= ratios[0] - _AS_CLOSE]
    if not found and len(written) >= _SHORTEST_PART:
        found = sorted((other for other in names if written in other), key=len)[:_SUGGESTED]
    return tuple(names[other] for other in found)


def advice(name: str, known: Collection[str], listed: Collection[str] | None = None) -> str:
    """What to do about an unknown name: the nearest known ones, and the list of them unless it is long.

    Parameters
    ----------
    name : str
    known : collection of str
        All names that there are.
    listed : collection of str, optional
        Those that are listed where none is near; all by default.

    Examples
    --------
    >>> advice("exat", ["auto", "exact"])
    "did you mean 'exact'? Known are auto, exact"
    >>> advice("magic", ["auto", "exact"])
    'known are auto, exact'
    """
    near = nearest(name, known)
    if not near:
        return f"known are {_list(known if listed is None else listed)}"
    meant = f"did you mean {' or '.join(map(repr, near))}?"
    return meant if len(known) > _LISTED else f"{meant} Known are {_list(known)}"


def _list(names: Collection[str]) -> str:
    """The names in a row, in quotation marks if one of them is more than letters, digits and signs."""
    some = list(islice(names, _MOST))
    plain = all(re.fullmatch(r"[\w.:/+-]+", name) for name in some)
    return ", ".join(some if plain else map(repr, some)) or "none"


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", "-", name.casefold())
