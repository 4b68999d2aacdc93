"""The scenarios of a solve: those that a caller gives, or so many drawn from the laws."""

from numbers import Integral

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.scenarios.draws import Scenarios, draw_scenarios, require_fitting
from depl.models.solving.defaults import DEFAULT_SCENARIOS


def sample_of(instance: Instance, scenarios: int | Scenarios | None = None, seed: int = 0) -> Scenarios:
    """The scenarios that a caller asks for: those given, or so many drawn with ``seed`` (100 unless given).

    Raises
    ------
    InvalidInputError
        If they do not fit the instance, have a seed although no law is declared, or are no number.
    NotCoveredError
        If there is no law to draw them from.
    """
    if isinstance(scenarios, Scenarios):
        require_fitting(instance, scenarios)
        if scenarios.seed is not None and not instance.declares_laws:
            raise InvalidInputError("have a seed, but there is no law to draw them from", "scenarios")
        return scenarios
    size: object = DEFAULT_SCENARIOS if scenarios is None else scenarios
    if isinstance(size, bool) or not isinstance(size, Integral):
        raise InvalidInputError(f"must be a whole number or Scenarios, not {size!r:.80}", "scenarios")
    return draw_scenarios(instance, int(size), seed)
