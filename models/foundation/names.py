"""What a user may have meant by a name that is not known: one rule for everything that is chosen by name.

It stands below all that takes time to import, as commands and options are looked up by it, too.
"""

import re
from collections.abc import Collection, Sequence
from itertools import islice

_SHARE = 0.3
"""Of the letters of a name, so many may be wrong. Set by hand: two in `instnaces`, one in `exat`."""

_DIGIT = 2
"""A digit that is wrong counts as two letters, as digits tell apart what is otherwise called alike."""

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

    Nearest is what has the same letters and digits, then the same words in another order, then what differs
    by the fewest letters left out, added, changed or swapped with the next one; if none of these is close
    enough, names of which it is a part, or that are a word of it.

    Examples
    --------
    >>> nearest("Paper_AlexNet9", ["paper-alexnet-7", "paper-alexnet-9"])
    ('paper-alexnet-9',)
    >>> nearest("greedy-density", ["density-greedy", "expected-greedy"])
    ('density-greedy',)
    >>> nearest("slove", ["solve", "replan"])
    ('solve',)
    >>> nearest("scenario", ["milp", "scenario-search"])
    ('scenario-search',)
    >>> nearest("magic", ["milp", "depl"])
    ()
    """
    if len(name) > _LONGEST:
        return ()
    names = [other for other in dict.fromkeys(islice(known, _MOST)) if len(other) <= _LONGEST]
    for rule in (_same_letters, _same_words, _few_changes, _parts):
        found = rule(name, names)
        if found:
            return tuple(found[:_SUGGESTED])
    return ()


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


def _same_letters(name: str, known: Sequence[str]) -> list[str]:
    return [other for other in known if _letters(other) == _letters(name) != ""]


def _same_words(name: str, known: Sequence[str]) -> list[str]:
    words = sorted(_words(name))
    return [other for other in known if sorted(_words(other)) == words != []]


def _few_changes(name: str, known: Sequence[str]) -> list[str]:
    """Those at the least distance, if it is small; first what begins as the name does."""
    letters = _letters(name)
    allowed = min(max(1, round(_SHARE * len(letters))), len(letters) - 1)
    spelled = {other: _letters(other) for other in known}
    distances = {
        other: _distance(letters, told)
        for other, told in spelled.items()
        if abs(len(told) - len(letters)) <= allowed
    }
    least = min(distances.values(), default=allowed + 1)
    found = [other for other, distance in distances.items() if distance == least <= allowed]
    return sorted(found, key=lambda other: -_begin_alike(letters, spelled[other]))


def _parts(name: str, known: Sequence[str]) -> list[str]:
    """Names that contain this one, the shortest first; or those that are the longest word of it."""
    letters = _letters(name)
    if len(letters) < _SHORTEST_PART:
        return []
    longer = sorted((other for other in known if letters in _letters(other)), key=len)
    return longer or [other for other in known if other.casefold() in _words(name)]


def _letters(name: str) -> str:
    return "".join(_words(name))


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W_]+", name.casefold())


def _begin_alike(name: str, other: str) -> int:
    """How many characters two names have in common before they differ."""
    pairs = enumerate(zip(name, other, strict=False))
    return next((index for index, (one, two) in pairs if one != two), min(len(name), len(other)))


def _distance(name: str, other: str) -> int:
    """Least weight of insertions, deletions, changes, and swaps of neighbours, of which none overlap."""
    before: list[int] = []
    row = [0]
    for against in other:
        row.append(row[-1] + _weight(against))
    for i, letter in enumerate(name, start=1):
        above, row = row, [row[0] + _weight(letter)]
        for j, against in enumerate(other, start=1):
            changed = 0 if letter == against else max(_weight(letter), _weight(against))
            cost = min(row[j - 1] + _weight(against), above[j] + _weight(letter), above[j - 1] + changed)
            if i > 1 and j > 1 and letter == other[j - 2] and name[i - 2] == against:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before = above
    return row[-1]


def _weight(letter: str) -> int:
    return _DIGIT if letter.isdigit() else 1
