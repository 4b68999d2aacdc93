"""Laws in words, for every text that depl prints."""

from depl.models.foundation.wording import counted, number
from depl.models.problem.laws import (
    Deterministic,
    Empirical,
    Forbidden,
    InverseGamma,
    Lognormal,
    Moments,
    Normal,
    StudentT,
    Undeclared,
    Zero,
)

AnyLaw = (
    InverseGamma | Normal | Lognormal | Deterministic | Empirical | StudentT | Zero | Forbidden | Undeclared
)


def law(value: AnyLaw) -> str:
    """A law in words, with its parameters as they were given."""
    match value:
        case Zero():
            return "zero"
        case Forbidden():
            return "forbidden"
        case Undeclared():
            return "of undeclared law"
        case Deterministic():
            return number(value.value)
        case Empirical():
            return f"one of {counted(len(value.values), 'observed value')}, {_moments(value.moments())}"
        case StudentT():
            interval_of_t = ""
            if value.lower is not None and value.upper is not None:
                interval_of_t = f" truncated to [{number(value.lower)}, {number(value.upper)}]"
            return (
                f"Student-t with {number(value.degrees_of_freedom)} degrees of freedom, location "
                f"{number(value.location)}, scale {number(value.scale)}{interval_of_t}"
            )
        case _:
            return f"{_NAMES[type(value)]} of {_moments(value.moments())}"


_NAMES: dict[type, str] = {InverseGamma: "inverse gamma", Normal: "normal", Lognormal: "lognormal"}


def _moments(moments: Moments) -> str:
    return f"mean {number(moments.mean)}, variance {number(moments.variance)}"
