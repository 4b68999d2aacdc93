"""How a path problem is to be read: what an epoch weighs."""

from enum import Enum


class Weight(Enum):
    """What an epoch weighs; kappa, r, c, s, b as in Sec. III, all nodes together."""

    FULL_RESOURCES = "full-resources"
    """kappa r, the cost of an epoch with all resources: the paper's words. Counts epochs (E12)."""
    COMPUTE = "compute"
    """kappa c."""
    FULL_RESOURCES_TIME = "full-resources-time"
    """kappa r (c / r + s / b), resources times the time they are held."""
    ROOT = "root"
    """sqrt(kappa c); (sum sqrt(kappa c))^2 / (T_max - sum s / b) is the cost where nothing clips."""
    LEAST_RESOURCES = "least-resources"
    """kappa c / (tau - s / b): the exact cost where only the round deadline limits time."""
