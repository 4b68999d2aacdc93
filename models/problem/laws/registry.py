"""The laws that documents may name: those of the toolkit, and those that are registered at run time."""

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from depl.models.foundation.documents import OpenUnion
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws.finite import Deterministic, Empirical, Forbidden, Undeclared, Zero
from depl.models.problem.laws.inverse_gamma import InverseGamma
from depl.models.problem.laws.law import Law
from depl.models.problem.laws.lognormal import Lognormal
from depl.models.problem.laws.normal import Normal
from depl.models.problem.laws.student_t import StudentT

BUILT_IN: tuple[type[Law], ...] = (
    InverseGamma,
    StudentT,
    Normal,
    Lognormal,
    Deterministic,
    Empirical,
    Zero,
    Forbidden,
    Undeclared,
)

_registered: dict[str, type[Law]] = {}


def laws() -> tuple[type[Law], ...]:
    """All classes of laws, those of the toolkit first."""
    return (*BUILT_IN, *_registered.values())


def registered_laws() -> tuple[type[Law], ...]:
    """The classes that were registered."""
    return tuple(_registered.values())


def is_registered(law: object) -> bool:
    """Whether an object follows a class that was registered."""
    return isinstance(law, registered_laws())


def register_law(kind: type[Law]) -> type[Law]:
    """Make a class of laws known: instances may then name it, in Python and in JSON.

    Registering a class again changes nothing. Every process that reads such instances has to register it.

    Parameters
    ----------
    kind : type
        A subclass of `Law`, declared with ``frozen=True, kw_only=True, tag="..."``, that overrides
        ``distribution``.

    Returns
    -------
    type
        ``kind``, so that the function can serve as a decorator.

    Raises
    ------
    InvalidInputError
        If the class is no such class, its tag is taken, or it could stand nowhere.
    """
    _require_law_class(kind)
    for known in laws():
        if known is not kind and known.tag() == kind.tag():
            raise InvalidInputError(
                f"the tag {kind.tag()!r} of {kind.__name__} stands for {known.__name__}; choose another"
            )
    _registered[kind.tag()] = kind
    return kind


def _require_law_class(kind: object) -> None:
    """Refuse what cannot be registered, in words."""
    if not (isinstance(kind, type) and issubclass(kind, Law)):
        shown = kind.__name__ if isinstance(kind, type) else repr(kind)
        raise InvalidInputError(
            f"{shown} is not a class of laws; derive it: class {shown}(depl.Law, frozen=True, kw_only=True, "
            'tag="...")'
        )
    config = kind.__struct_config__
    if not config.frozen:
        raise InvalidInputError(f"{kind.__name__} is not frozen; declare it with frozen=True")
    if not isinstance(config.tag, str) or config.tag_field != "type":
        raise InvalidInputError(
            f'{kind.__name__} has no tag that documents could name it by; declare it with tag="..."'
        )
    shipped = [known.__name__ for known in BUILT_IN if issubclass(kind, known)]
    if shipped:
        raise InvalidInputError(
            f"{kind.__name__} is derived from {shipped[0]}, whose formulas would speak for it; derive it "
            "from depl.Law"
        )
    if kind.distribution is Law.distribution:
        raise InvalidInputError(
            f"{kind.__name__} has no method distribution(), which returns the frozen distribution of "
            "scipy.stats that X has; all else follows from it, or is optional"
        )
    if not (kind.for_improvements or kind.for_switches):
        raise InvalidInputError(
            f"{kind.__name__} is neither for improvements nor for switches, so that no instance could name it"
        )


class _Improvements(OpenUnion):
    @classmethod
    def members(cls) -> tuple[type[msgspec.Struct], ...]:
        """Laws that an improvement may have."""
        order = (InverseGamma, Normal, Lognormal, Deterministic, Empirical, Undeclared)
        return (*order, *(kind for kind in registered_laws() if kind.for_improvements))


class _Switches(OpenUnion):
    @classmethod
    def members(cls) -> tuple[type[msgspec.Struct], ...]:
        """Laws that the change at a switch may have."""
        order = (StudentT, Normal, Deterministic, Empirical, Zero, Forbidden, Undeclared)
        return (*order, *(kind for kind in registered_laws() if kind.for_switches))


if TYPE_CHECKING:
    ImprovementLaw: TypeAlias = Law
    SwitchLaw: TypeAlias = Law
else:
    ImprovementLaw, SwitchLaw = _Improvements, _Switches
