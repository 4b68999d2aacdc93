"""Knapsacks with any numbers solved without planning: depth-first branch and bound in exact arithmetic.

Items by falling value per weight; at every node the bound of Dantzig, which fills what is left of the
capacity with the best of the items that are left, the last of them in part. It is the check where numbers
have too many digits for a dynamic program, and shares no code with the methods that solve instances.
"""

from fractions import Fraction

from depl.instances.reductions.dynamic_programs import KnapsackSolution, solution
from depl.instances.reductions.knapsack import Knapsack
from depl.models.foundation.errors import NotCoveredError

MOST_NODES = 2_000_000


def best_by_branching(knapsack: Knapsack, most_nodes: int = MOST_NODES) -> KnapsackSolution:
    """Items of most value that fit.

    Parameters
    ----------
    most_nodes : int
        Nodes after which to give up.

    Raises
    ------
    NotCoveredError
        If that many nodes do not prove an optimum.
    """
    whole = knapsack.whole
    order = sorted(
        range(len(knapsack)),
        key=lambda item: (
            Fraction(-whole.values[item], whole.weights[item]) if whole.weights[item] else Fraction(-(10**30))
        ),
    )
    values, weights = [whole.values[item] for item in order], [whole.weights[item] for item in order]
    best, chosen = -1, 0
    stack = [(0, 0, whole.capacity, 0)]
    for _ in range(most_nodes):
        if not stack:
            return solution(knapsack, [item for place, item in enumerate(order) if chosen >> place & 1])
        place, value, room, taken = stack.pop()
        if value > best:
            best, chosen = value, taken
        if place == len(order) or value + _bound(values, weights, place, room) <= best:
            continue
        stack.append((place + 1, value, room, taken))
        if weights[place] <= room:
            entry = (place + 1, value + values[place], room - weights[place], taken | 1 << place)
            stack.append(entry)
    raise NotCoveredError(f"branch and bound did not prove an optimum within {most_nodes} nodes")


def _bound(values: list[int], weights: list[int], place: int, room: int) -> int:
    """Most whole value that the items from ``place`` on can add."""
    total = 0
    for item in range(place, len(values)):
        if weights[item] > room:
            return total + room * values[item] // weights[item]
        total += values[item]
        room -= weights[item]
    return total
