"""Every plan of a tiny instance written out under scenarios: a name of `tests.oracles.brute_force`."""

from tests.oracles.brute_force import cheapest_under_scenarios, cost_and_misses

__all__ = ["cheapest_under_scenarios", "cost_and_misses"]
