"""What a figure says, in a sentence made from its numbers: titles are messages, not names of files."""

from collections.abc import Iterable, Mapping, Sequence

from depl.models.foundation.wording import counted, percentage

SAME = 0.005
"""Relative difference that counts as none in a title."""

_WITHIN = 1.01


def worst_ratios(ratios: Mapping[str, Sequence[float | None]]) -> dict[str, float]:
    """The largest ratio of every method that has one."""
    known = {name: [value for value in values if value is not None] for name, values in ratios.items()}
    return {name: max(values) for name, values in known.items() if values}


def cost_message(place: str, ratios: Mapping[str, Sequence[float | None]], proving: Iterable[str]) -> str:
    """Who finds the cheapest plans, and whose are the most expensive.

    Parameters
    ----------
    place : str
        The family or suite.
    ratios : mapping of str to sequence of (float or None)
        By method the cost over the proved optimum; None where there is no plan, or no optimum is proved.
    proving : iterable of str
        Methods that proved their plans themselves, whose ratio of 1 says nothing new.
    """
    worst = worst_ratios(ratios)
    if not worst:
        return f"{place}: no optimum is proved"
    last = max(worst, key=lambda name: worst[name])
    if worst[last] <= 1 + SAME:
        return f"{place}: every plan costs what the optimum costs"
    skipped = set(proving)
    best = [name for name, value in worst.items() if value <= 1 + SAME and name not in skipped]
    times = f"{last} up to {worst[last]:.3g} times"
    return f"{place}: {_listed(best)} at the optimum, {times} it" if best else f"{place}: {times} the optimum"


def loss_message(place: str, ratios: Mapping[str, Sequence[float | None]]) -> str:
    """How far below the optimum's an expected loss is, which the promise does not ask for."""
    least = {name: -value for name, value in worst_ratios(_negative(ratios)).items()}
    if not least:
        return f"{place}: no optimum is proved"
    first = min(least, key=lambda name: least[name])
    if least[first] >= 1 - SAME:
        return f"{place}: no plan expects a lower loss than the optimum"
    share = _percent(least[first])
    return f"{place}: {first} trains to {share} of the optimum's expected loss, which no promise needs"


def models_message(place: str, amounts: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Which models every method trains: ``amounts[method][model]`` holds a number per target."""
    groups: dict[str, list[str]] = {}
    for method, models in amounts.items():
        used = [model for model, values in models.items() if sum(values) > 0]
        groups.setdefault(_listed(used) or "nothing", []).append(method)
    return f"{place}: " + "; ".join(f"{used} by {_listed(methods)}" for used, methods in groups.items())


def epochs_message(place: str, epochs: Mapping[str, Mapping[str, int]]) -> str:
    """How many more epochs than the first method another one trains: ``epochs[method][target]``."""
    if not epochs:
        return f"{place}: no plan"
    first, *others = epochs
    own = _listed([str(count) for count in epochs[first].values()])
    more = {
        name: max((count - epochs[first].get(target, count) for target, count in epochs[name].items()))
        for name in others
        if epochs[name]
    }
    longest = max(more, key=lambda name: more[name], default="")
    if not longest or more[longest] <= 0:
        return f"{place}: {first} trains {own} epochs, and no method more"
    return f"{place}: {first} trains {own} epochs, {longest} up to {more[longest]} more"


def levels_message(place: str, levels: int, ratios: Mapping[str, float | None]) -> str:
    """What most levels leave over the optimum: the mean ratio of every method there."""
    known = [f"{value:.3g} ({name})" for name, value in ratios.items() if value is not None]
    return f"{place}: cost over the optimum with {levels} levels: {', '.join(known) or 'no plan'}"


def share_message(place: str, problems: int, shares: Mapping[str, float], rest: str) -> str:
    """Who answers most problems within 1 % of the best, and how many the others do.

    Parameters
    ----------
    shares : mapping of str to float
        By method the share of problems.
    rest : str
        What the share is of, in words.
    """
    ranked = sorted(shares.items(), key=lambda item: -item[1])[:3]
    told = ", ".join(f"{name} {_percent(share)}" for name, share in ranked)
    return f"{place}, {counted(problems, 'problem')}: {rest}: {told}"


def share_within(factors: Sequence[float], shares: Sequence[float], factor: float = _WITHIN) -> float:
    """The share that a profile reaches at a factor."""
    return max((share for at, share in zip(factors, shares, strict=True) if at <= factor), default=0.0)


def size_message(suite: str, largest: Mapping[str, float]) -> str:
    """Who stays closest to the optimum or bound at all sizes, and who goes furthest: the largest ratios."""
    if not largest:
        return f"{suite}: nothing to compare with"
    near, far = (find(largest, key=lambda name: largest[name]) for find in (min, max))
    text = f"{suite}: {near} stays within {largest[near]:.3g} times the optimum or bound"
    return text if near == far else f"{text}, {far} goes to {largest[far]:.3g}"


def growth_message(
    suite: str, exponents: Mapping[str, float], ends: Mapping[str, float], stopped: Mapping[str, float]
) -> str:
    """Whose time grows fastest, up to which size, and who is stopped first.

    Parameters
    ----------
    exponents, ends : mapping of str to float
        By method the fitted exponent, and the largest size that it is fitted to.
    stopped : mapping of str to float
        By method the least size at which an attempt was stopped.
    """
    parts = []
    if exponents:
        steep = max(exponents, key=lambda name: exponents[name])
        parts.append(f"{steep} grows as size$^{{{exponents[steep]:.1f}}}$ up to {ends[steep]:g}")
    if stopped:
        first = min(stopped, key=lambda name: stopped[name])
        parts.append(f"{first} is stopped from {stopped[first]:g} on")
    return f"{suite}: {', '.join(parts) or 'too few sizes for a line'}"


def promise_message(place: str, promises: Iterable[tuple[float, float]]) -> str:
    """How many promises were kept: pairs of the promised share and the upper end of what was delivered."""
    pairs = list(promises)
    broken = sum(upper < promised for promised, upper in pairs)
    if not broken:
        return f"{place}: no interval lies below its promise"
    return f"{place}: {broken} of {counted(len(pairs), 'interval')} below the promise"


def _negative(ratios: Mapping[str, Sequence[float | None]]) -> dict[str, list[float | None]]:
    return {name: [None if value is None else -value for value in values] for name, values in ratios.items()}


def _percent(share: float) -> str:
    return percentage(share, 2)


def _listed(names: Sequence[str]) -> str:
    """Names with commas, and an "and" before the last one."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
