"""Random placement problems with trade-offs, drawn before anything is solved.

The price of a cluster rises with its capacity and its bandwidth, so no cluster is best at everything, and
models range from much computing with little to send to the opposite, so they prefer different clusters. T_max
lies between the time of the fastest clusters and twice that: it always binds where no deadline does it first.
"""

import numpy as np

from depl.heuristics.placement.problem import PlacementProblem


def random_placement(
    rng: np.random.Generator,
    classes: int,
    clusters: int,
    epochs: int,
    *,
    transfers: bool = False,
    deadline: bool = False,
) -> PlacementProblem:
    """One feasible problem.

    Parameters
    ----------
    classes, clusters, epochs : int
        G, N and K >= G; epochs are spread evenly over the classes.
    transfers : bool
        Whether clusters charge for their data: up to about a third of what training costs.
    deadline : bool
        Whether every epoch has a deadline too.
    """
    capacity = 5 * np.exp(rng.uniform(0, 2, clusters))
    bandwidth = np.exp(rng.uniform(0, 3, clusters))
    price = (capacity / 5) ** 0.7 * bandwidth**0.8 * np.exp(rng.normal(0, 0.1, clusters))
    work = 5 * np.exp(rng.uniform(-2, 2, classes))
    communication = (2 * np.exp(rng.uniform(-2, 2, classes)))[:, None] / bandwidth
    counts = np.full(classes, epochs // classes, dtype=np.int64)
    counts[: epochs % classes] += 1
    shortest = (communication + work[:, None] / capacity).min(axis=1)
    limit = float(counts @ shortest) * rng.uniform(1.02, 2)
    typical = float((counts @ np.sqrt(work)) ** 2 / limit * np.median(price))
    return PlacementProblem(
        clusters=tuple(f"cluster {n + 1}" for n in range(clusters)),
        classes=tuple(f"model {g + 1}" for g in range(classes)),
        counts=counts,
        work=np.repeat(work[:, None], clusters, axis=1),
        price=price,
        capacity=capacity,
        communication=communication,
        transfers=typical * rng.uniform(0, 0.3, clusters) if transfers else np.zeros(clusters),
        maximum_time=limit,
        round_deadline=float((shortest * rng.uniform(1.1, 3)).max()) if deadline else None,
    )
