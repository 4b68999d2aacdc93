"""A policy file as plain tuples, read with the standard library alone, as training programs import this.

`depl.models.problem.policy.Policy` is the file in full, with all its checks and its schema. Here is what a
run is led by, and of the checks those without which it could be led astray.
"""

import json
import math
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, cast

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.json_keys import require_single_keys

if TYPE_CHECKING:  # it comes with msgspec and numpy
    from depl.models.problem.instance import Instance
    from depl.models.problem.plan import Plan
    from depl.models.problem.policy import Policy

STOP = -1
"""The action of a row that ends the run, as in `depl.models.problem.policy`."""

FORMAT, VERSION = "depl-policy", 1


class Training(NamedTuple):
    """What one more epoch trains, costs and does: l' = shift + retention * l + noise."""

    model: str
    cluster: str
    price: float
    shift: float
    retention: float
    following: int


class Place(NamedTuple):
    """Where a run may stand, but for its loss: rows as their last indices, and beside them the actions."""

    epoch: int
    model: str | None
    cluster: str | None
    may_stop: bool
    trainings: tuple[Training, ...]
    upto: tuple[int, ...]
    actions: tuple[int, ...]


class Rules(NamedTuple):
    """All that decides on a run.

    Attributes
    ----------
    name : str
        Of the policy.
    instance : str
        Fingerprint of the instance that it was planned for.
    scale : "loss" or "log"
    origin, step, limit : float
        Grid and l_max, on the scale.
    cells, target : int
        Of the grid; ``target`` is the greatest index at which the target is met.
    ledger : bool
        Whether the state is the ledger, and not the loss itself.
    last : int
        K_max.
    start : int
        The place of epoch 0.
    places : tuple of Place
    """

    name: str
    instance: str
    scale: Literal["loss", "log"]
    origin: float
    step: float
    cells: int
    target: int
    limit: float
    ledger: bool
    last: int
    start: int
    places: tuple[Place, ...]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides; policies that differ in what is claimed of them alone share it."""
        return sha256(repr(tuple(self[1:])).encode()).hexdigest()


def read_rules(
    policy: "Policy | Plan | Rules | str | os.PathLike[str]",
    instance: "Instance | str | os.PathLike[str] | None" = None,
) -> Rules:
    """The rules of a policy, which is given as such, by the path of its file, or as JSON text.

    With an instance it is a plan of it, which is followed until the target is reached. Who leads many runs
    reads them once, and makes each controller of them.

    Raises
    ------
    InvalidInputError
        If there is none, or none of this format and version, or if what it says does not fit together.
    """
    if isinstance(policy, Rules):
        return policy
    if instance is not None:
        # with msgspec and numpy, which a policy can do without
        from depl.models.policy.followed_plan import plan_rules

        return plan_rules(cast("Plan", policy), instance)
    text, source = _text(policy)
    try:
        return _rules(_Fields(_document(text), "$"))
    except InvalidInputError as error:
        if not (source and error.path.startswith("$")):
            raise
        raise InvalidInputError(error.message, f"{source}: {error.path}") from error


_HINTS = {
    "PolicyResult": "; give its policy",
    "Result": "; give its plan, and instance=",
    "Plan": "; a plan is followed with its instance: Controller(plan, instance=instance), or "
    "depl policy decide PLAN --instance INSTANCE --log RUN.jsonl",
}


def _text(policy: Any) -> tuple[str, str]:
    """The JSON text of a policy, and the file that it stands in."""
    if isinstance(policy, str) and policy.lstrip().startswith("{"):
        return policy, ""
    if isinstance(policy, str | os.PathLike):
        try:
            return Path(policy).read_text(encoding="utf-8"), str(policy)
        except UnicodeDecodeError as error:
            raise InvalidInputError("not UTF-8 text", str(policy)) from error
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise InvalidInputError(f"cannot be read ({reason})", str(policy)) from error
    if type(policy).__name__ == "Policy":
        return str(policy.to_json()), ""
    if policy is None:
        raise InvalidInputError("there is no policy: result.reason says why none was found", "policy")
    hint = _HINTS.get(type(policy).__name__, "")
    raise InvalidInputError(
        f"must be a Policy, the path of its file or its JSON text, not {type(policy).__name__}{hint}",
        "policy",
    )


def _document(text: str) -> Any:
    try:
        found = json.loads(text, parse_constant=_not_finite)
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"not a JSON document: {error}", "$") from error
    require_single_keys(text)
    return found


def _not_finite(word: str) -> NoReturn:
    raise InvalidInputError(f"holds {word}, which is no number of JSON", "$")


class _Fields:
    """The fields of a JSON object, each asked for by its type."""

    def __init__(self, content: Any, place: str) -> None:
        if not isinstance(content, dict):
            raise InvalidInputError(f"must be an object, not {_kind(content)}", place)
        self.content, self.place = content, place

    def text(self, name: str, default: str | None = None) -> str:
        return cast("str", self._typed(name, str, "text", default))

    def optional_text(self, name: str) -> str | None:
        return None if self.content.get(name) is None else self.text(name)

    def flag(self, name: str) -> bool:
        return cast("bool", self._typed(name, bool, "true or false", False))

    def choice(self, name: str, known: tuple[str, ...], default: str | None = None) -> str:
        found = self.text(name, default)
        if found not in known:
            self.refuse(name, f"must be {' or '.join(known)}, not {found!r}")
        return found

    def whole(self, name: str, least: int, limit: int) -> int:
        """A whole number from ``least`` on and below ``limit``."""
        found = self._typed(name, int, "a whole number")
        if not least <= found < limit:
            self.refuse(name, f"is {found}, and must be from {least} to {limit - 1}")
        return cast("int", found)

    def number(self, name: str, least: float = -math.inf) -> float:
        try:
            found = float(self._typed(name, (int, float), "a number"))
        except OverflowError:
            found = math.inf
        if not (math.isfinite(found) and found >= least):
            self.refuse(name, f"is {found:g}, and must be finite and at least {least:g}")
        return found

    def objects(self, name: str) -> "Iterator[_Fields]":
        for index, item in enumerate(self._typed(name, list, "an array", [])):
            yield _Fields(item, f"{self.place}.{name}[{index}]")

    def inner(self, name: str) -> "_Fields":
        return _Fields(self._typed(name, dict, "an object"), f"{self.place}.{name}")

    def refuse(self, name: str, message: str) -> NoReturn:
        raise InvalidInputError(message, f"{self.place}.{name}")

    def _typed(self, name: str, kind: Any, words: str, default: Any = None) -> Any:
        found = self.content.get(name, default)
        if found is None:
            self.refuse(name, "is missing")
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
            self.refuse(name, f"must be {words}, not {_kind(found)}")
        return found


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "an array", str: "text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


_ANY = 2**62
"""No bound for a whole number."""


def _rules(given: _Fields) -> Rules:
    _require_header(given)
    grid = given.inner("grid")
    cells, last = grid.whole("cells", 1, _ANY), given.whole("maximum_epochs", 0, _ANY)
    step = grid.number("step")
    if step <= 0:
        grid.refuse("step", f"must be positive, not {step:g}")
    count = len(list(given.objects("nodes")))
    places = tuple(_place(item, cells, count) for item in given.objects("nodes"))
    start = given.whole("start", 0, count)
    rules = Rules(
        given.text("name"),
        given.text("instance"),
        cast("Literal['loss', 'log']", grid.choice("scale", ("loss", "log"))),
        grid.number("origin"),
        step,
        cells,
        grid.whole("target", 0, _ANY),
        grid.number("limit"),
        given.choice("state", ("ledger", "observed"), "ledger") == "ledger",
        last,
        start,
        places,
    )
    _require_order(rules)
    return rules


def _require_header(given: _Fields) -> None:
    found = given.text("format")
    if found != FORMAT:
        hint = _HINTS["Plan"] if found == "depl-plan" else ""
        given.refuse("format", f"this is a {found!r} document; a {FORMAT!r} one is needed here{hint}")
    version = given.whole("version", 0, _ANY)
    if version != VERSION:
        given.refuse(
            "version",
            f"version {version} is not known to this depl, which reads {VERSION}; update one of them",
        )
    given.choice("promise", ("reached",), "reached")


def _place(node: _Fields, cells: int, count: int) -> Place:
    trainings = tuple(
        Training(
            item.text("model"),
            item.text("cluster"),
            item.number("price", 0.0),
            item.number("shift"),
            item.number("retention", 0.0),
            item.whole("following", 0, count),
        )
        for item in node.objects("trainings")
    )
    rows = [
        (row.whole("upto", 0, _ANY), row.whole("action", STOP, len(trainings)))
        for row in node.objects("rows")
    ]
    upto = tuple(end for end, _ in rows)
    for index in range(1, len(upto)):
        if upto[index] <= upto[index - 1]:
            node.refuse(f"rows[{index}].upto", "does not exceed that of the row before")
    if not upto or upto[-1] != cells - 1:
        end = f"end at {upto[-1]}" if upto else "are missing"
        node.refuse("rows", f"{end}; the last row ends with the grid, at {cells - 1}")
    return Place(
        node.whole("epoch", 0, _ANY),
        node.optional_text("model"),
        node.optional_text("cluster"),
        node.flag("may_stop"),
        trainings,
        upto,
        tuple(action for _, action in rows),
    )


def _require_order(rules: Rules) -> None:
    """Refuse epochs that do not lead to the next one."""
    if rules.places[rules.start].epoch != 0:
        raise InvalidInputError("names a node after epoch 0; a policy starts before epoch 1", "$.start")
    for number, place in enumerate(rules.places):
        for index, training in enumerate(place.trainings):
            after = rules.places[training.following]
            where = f"$.nodes[{number}].trainings[{index}].following"
            if after.epoch > rules.last:
                raise InvalidInputError(f"is a node of epoch {after.epoch}, beyond maximum_epochs", where)
            if after.epoch != place.epoch + 1:
                raise InvalidInputError(
                    f"is a node of epoch {after.epoch}, not of epoch {place.epoch + 1}", where
                )
            if (after.model, after.cluster) != (training.model, training.cluster):
                raise InvalidInputError("is a node of another model or cluster", where)
