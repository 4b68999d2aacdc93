"""The units that an instance is written in: optional names, repeated wherever its numbers are shown.

depl computes with bare numbers and converts nothing: an instance uses one unit of each kind throughout, so
that work is counted in resource x time, bandwidth in size / time and prices in cost / resource. The names say
which units these are; they change no number, and instances that differ in them alone share a fingerprint.
"""

from typing import Annotated, Literal

from msgspec import Meta

from depl.models.foundation.documents import Checked
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import number

Quantity = Literal["cost", "time", "resource", "data", "size", "memory"]
"""What can have a unit."""

LONGEST_UNIT = 20
"""Letters of a unit: it stands in the heads of columns that hold about ten digits."""

UnitName = Annotated[str, Meta(min_length=1, max_length=LONGEST_UNIT)]


class Units(Checked, frozen=True, kw_only=True):
    """Names of units, by what they measure; what has no name is shown as a bare number.

    Raises
    ------
    InvalidInputError
        If a name begins or ends with a blank, or holds a letter that no terminal shows.

    Examples
    --------
    >>> units = Units(cost="EUR", resource="GPU")
    >>> units.amount(20.0593, "cost"), units.amount(9.5, "time")
    ('20.0593 EUR', '9.5')
    >>> units.titled("price", "cost", "resource"), units.titled("bandwidth", "size", "time")
    ('price [EUR / GPU]', 'bandwidth')
    """

    cost: Annotated[UnitName, Meta(description="of prices and transfers: EUR")] | None = None
    time: Annotated[UnitName, Meta(description="of T_max and tau: h")] | None = None
    resource: Annotated[UnitName, Meta(description="of capacities: GPU")] | None = None
    data: Annotated[UnitName, Meta(description="of volume and work of datasets: GB")] | None = None
    size: Annotated[UnitName, Meta(description="of models, as they are sent: MB")] | None = None
    memory: Annotated[UnitName, Meta(description="of nodes and models: GB")] | None = None

    def validate(self) -> None:
        """Refuse names that would not be seen as they are."""
        for kind in self.__struct_fields__:
            name = getattr(self, kind)
            if name is not None and (name != name.strip() or not name.isprintable()):
                raise InvalidInputError(
                    f"is {name!r}; a unit is printable text without outer blanks", f".{kind}"
                )

    def name(self, kind: Quantity, *per: Quantity) -> str:
        """The unit of ``kind`` per ``per``: empty if none of them has a name."""
        kinds = (kind, *per)
        names = [getattr(self, one) for one in kinds]
        return " / ".join(name or one for name, one in zip(names, kinds, strict=True)) if any(names) else ""

    def work(self) -> str:
        """The unit of work, resource x time; empty if neither has a name."""
        if self.resource is None and self.time is None:
            return ""
        return f"{self.resource or 'resource'} x {self.time or 'time'}"

    def amount(self, value: float | None, kind: Quantity, *per: Quantity) -> str:
        """``value`` to six digits with its unit."""
        return self.after(number(value), kind, *per)

    def after(self, text: str, kind: Quantity, *per: Quantity) -> str:
        """``text``, which ends with a number, and the unit behind it."""
        return " ".join(filter(None, (text, self.name(kind, *per))))

    def titled(self, text: str, kind: Quantity, *per: Quantity) -> str:
        """The title of a column or an axis, with the unit in brackets."""
        name = self.name(kind, *per)
        return f"{text} [{name}]" if name else text

    def one(self, kind: Quantity) -> str:
        """One unit in words: "1 h", or "one unit"."""
        name: str | None = getattr(self, kind)
        return f"1 {name}" if name else "one unit"


NO_UNITS = Units()
"""Nothing is named: numbers are shown as they are."""
