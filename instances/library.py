"""The shipped instances and families, and the reading of a user's own files.

A *family* is a base instance and the targets that it is studied at: the paper's evaluation (Sec. VI-B)
solves the same problem for several values of the guaranteed loss. `load` takes the name of a shipped
family, an alias that carries the target (``paper-alexnet-9``), or the path of an instance or family
file. Which values are the paper's and which are assumed stands in the ``provenance`` of each file.

A file may contain whole-line comments that begin with ``//``, as `depl.instances.template` does.
"""

import functools
import math
import os
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from depl.instances.shipped import full_names, names, strip_comments, text_of
from depl.models.foundation.documents import Checked, decode_document, format_of, read_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.problem.instance import Instance, Provenance
from depl.models.problem.laws import Positive

_CHANGEABLE = ("maximum_loss", "quantile_level", "maximum_epochs", "maximum_time", "round_deadline")


class TargetChange(Checked, frozen=True, kw_only=True):
    """What one target of a family changes in the base instance; field by field."""

    maximum_loss: Annotated[float, Meta(description="l_max; the value that names the target")]
    quantile_level: Annotated[float, Meta(gt=0, lt=1, description="omega")] | None = None
    maximum_epochs: Annotated[int, Meta(ge=0, description="K_max")] | None = None
    maximum_time: Annotated[Positive, Meta(description="T_max [time]")] | None = None
    round_deadline: Annotated[Positive, Meta(description="tau [time]")] | None = None
    provenance: Annotated[
        tuple[Provenance, ...], Meta(description="rows that replace those of the same path")
    ] = ()

    def apply(self, instance: Instance, label: str) -> Instance:
        """``instance`` at this target, renamed after ``label``."""
        changes = {name: getattr(self, name) for name in _CHANGEABLE if getattr(self, name) is not None}
        replaced = {row.path for row in self.provenance}
        kept = tuple(row for row in instance.provenance if row.path not in replaced)
        return instance.replace(name=f"{instance.name}-{label}", provenance=kept + self.provenance, **changes)


class Family(Checked, frozen=True, kw_only=True):
    """One instance at several targets."""

    format: Literal["depl-family"] = "depl-family"
    version: Literal[1] = 1
    instance: Annotated[Instance, Meta(description="the problem, at any of the targets")]
    targets: Annotated[dict[str, TargetChange], Meta(min_length=1, description="keyed by maximum_loss")]

    def validate(self) -> None:
        """Require that every target is named by its value and makes a valid instance."""
        for label, change in self.targets.items():
            if _number(label) != change.maximum_loss:
                message = f"the key {label!r} must be the value of maximum_loss, {change.maximum_loss:g}"
                raise InvalidInputError(message, ".targets")
            try:
                change.apply(self.instance, label)
            except InvalidInputError as error:
                message = f"target {label!r} makes an invalid instance: {error}"
                raise InvalidInputError(message, ".targets") from error

    def at(self, target: float | str | None) -> Instance:
        """The instance at ``target``; a family with one target needs none.

        Raises
        ------
        InvalidInputError
            If the family has no such target, or several and none is given.
        """
        known = f"{self.instance.name!r} has {_listing(self.targets)}"
        if target is None:
            if len(self.targets) > 1:
                raise InvalidInputError(f"choose a target: {known}")
            target = next(iter(self.targets))
        value = _number(target)
        for label, change in self.targets.items():
            if change.maximum_loss == value:
                return change.apply(self.instance, label)
        raise InvalidInputError(f"there is no target {target}: {known}")


def load(name_or_path: str | Path, target: float | str | None = None) -> Instance:
    """Find an instance by name or read it from a file.

    Parameters
    ----------
    name_or_path : str or Path
        A name of `names`; such a name, a hyphen and a target (``paper-alexnet-9``); or the path of a
        ``depl-instance`` or ``depl-family`` JSON file.
    target : float or str, optional
        Bound on the quantile of the final loss: chooses among the targets of a family, and replaces
        ``maximum_loss`` of a single instance.

    Returns
    -------
    Instance

    Raises
    ------
    InvalidInputError
        For an unknown name (with the close ones) or file, a document that is not valid, a target that
        a family does not have, or none where it has several (with those it has).
    """
    text = str(name_or_path)
    if not isinstance(name_or_path, Path):
        if text in names():
            return _at(_shipped(text), target)
        for name in names():
            label = text.removeprefix(f"{name}-")
            if label != text and _is_number(label):
                return _at(_shipped(name), _agreed(label, target))
        if not text.endswith(".json") and not os.path.exists(text):
            raise InvalidInputError(_unknown(text))
    return _at(parse(read_text(name_or_path)), target)


def parse(text: str) -> Instance | Family:
    """Read a ``depl-instance`` or ``depl-family`` document, whole-line ``//`` comments allowed."""
    bare = strip_comments(text)
    if format_of(bare) == "depl-family":
        return decode_document(bare, Family)
    return Instance.from_json(bare)


@functools.cache
def _shipped(name: str) -> Instance | Family:
    """Read once: shipped files do not change, and neither do documents."""
    return parse(text_of(name))


def _at(found: Instance | Family, target: float | str | None) -> Instance:
    if isinstance(found, Family):
        return found.at(target)
    if target is None:
        return found
    value = _number(target)
    note = "given when the instance was loaded"
    given = Provenance(path="$.target.maximum_loss", source="assumed", note=note)
    return TargetChange(maximum_loss=value, provenance=(given,)).apply(found, f"{value:g}")


def _agreed(label: str, target: float | str | None) -> str:
    if target is not None and _number(target) != _number(label):
        raise InvalidInputError(f"the name says target {label}, the option {target}; give one of them")
    return label


def _unknown(name: str) -> str:
    return f"no shipped instance and no file is called {name!r}; {advice(name, full_names(), names())}"


def _listing(targets: dict[str, Any]) -> str:
    return ("targets " if len(targets) > 1 else "target ") + ", ".join(targets)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _number(target: float | str) -> float:
    if not _is_number(str(target)):
        raise InvalidInputError(f"the target must be a finite number, not {target!r}")
    return float(target)
