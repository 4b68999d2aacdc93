"""The random family on which methods are compared with proven optima: small instances with every feature.

Up to four models, three clusters, four datasets and ten epochs, of `depl.instances.generator`: small enough
that ``exact`` proves nearly all of them, and drawn before anything is solved.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from depl.instances.generator import Range, random_instances
from depl.models.problem.instance import Instance

SIZES: Mapping[str, Range] = MappingProxyType(
    {"models": (2, 4), "clusters": (1, 3), "datasets": (1, 4), "maximum_epochs": (3, 10)}
)
"""Least and greatest |M|, |N|, |D| and K_max."""


def competitive_family(rng: np.random.Generator, count: int) -> tuple[Instance, ...]:
    """The first ``count`` instances; those that come first do not depend on ``count``."""
    return random_instances(rng, count, **SIZES)
