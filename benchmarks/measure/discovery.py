"""Finds what the modules of a package define under one name: cases and suites come by files alone."""

import importlib
import pkgutil
from types import ModuleType
from typing import Protocol, TypeVar

from depl.models.foundation.errors import InvalidInputError


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str:
        """What it is called."""


Found = TypeVar("Found", bound=Named)


def defined_in(package: ModuleType, attribute: str, kind: type[Found]) -> dict[str, Found]:
    """What every module of ``package`` defines as ``attribute``, by its name, in alphabetical order.

    Rooms inside the package hold helpers and are left out.

    Raises
    ------
    InvalidInputError
        If a module defines nothing of the kind, or two define things of one name.
    """
    found: dict[str, Found] = {}
    for module in pkgutil.iter_modules(package.__path__, prefix=f"{package.__name__}."):
        if module.ispkg:  # a room of helpers
            continue
        item = getattr(importlib.import_module(module.name), attribute, None)
        if not isinstance(item, kind):
            raise InvalidInputError(
                f"{module.name} defines no {attribute}; set {attribute} = {kind.__name__}(...) there or move "
                "the file"
            )
        if item.name in found:
            raise InvalidInputError(
                f"{module.name}: another file already defines the {kind.__name__.lower()} {item.name!r}; "
                "rename one"
            )
        found[item.name] = item
    return dict(sorted(found.items()))
