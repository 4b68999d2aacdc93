"""What the behaviour record holds, and its file: one compact JSON object, written whole or not at all."""

import hashlib
from pathlib import Path
from typing import Any, Literal

import msgspec

from depl.benchmarks.measure.provenance import Commit, Machine, Provenance
from depl.benchmarks.measure.results import read_as
from depl.models.foundation.documents import write_bytes
from depl.models.foundation.errors import InvalidInputError

Bound = float | Literal["inf", "-inf"]
"""A number of a bound, which JSON could not hold if it is infinite."""

_DIGITS = 12
"""Significant digits that are kept: a thousand times finer than what is compared."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one setting answers on one problem; fields without a value are left out.

    Attributes
    ----------
    refused : str
        Class and text of the error that the method raised in place of a result.
    reason : str
        Why there is no plan.
    plan : str
        Digest of the discrete part of the plan: the data of every cluster, model and cluster of every epoch.
    resources : tuple of float
        x of every epoch.
    miss, quantile : pair of float
        The certified intervals of P(l(K) > l_max) and of the omega-quantile of l(K).
    dual : float
        The lower bound that the verifier can prove again [cost].
    decisions : int
        How many the method tells.
    findings : str
        Key of the verifier's findings in `Record.findings`.
    seconds : float
        Of the processor; noted, and not compared.
    """

    refused: str | None = None
    termination: str | None = None
    solution: str | None = None
    reason: str | None = None
    cost: float | None = None
    lower_bound: Bound | None = None
    dual: float | None = None
    plan: str | None = None
    resources: tuple[float, ...] = ()
    training_time: float | None = None
    expected_loss: float | None = None
    miss: tuple[float, float] | None = None
    quantile: tuple[float, float] | None = None
    decisions: int = 0
    findings: str | None = None
    seconds: float = 0.0


class Left(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was not asked, by patterns of label and problem, and why."""

    settings: str
    problems: str
    reason: str


class Record(Provenance, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that was asked and answered.

    Of its provenance, records of version 1 hold the versions of libraries alone, and no date or command.

    Attributes
    ----------
    date, command : str
        When it was recorded, and how.
    seed, scenarios, looks : int
        Of the random problems; S where the problem has no scenarios; looks at the clock for each solve.
    instances : dict of str to str
        Beginning of the fingerprint of every problem's instance.
    findings : dict of str to str
        Texts of findings by their keys; the same text has the same key in every record.
    answers : dict
        By problem, then by label of the setting.
    """

    format: Literal["depl-behaviour"] = "depl-behaviour"
    version: Literal[1, 2] = 2
    commit: Commit | None = None
    python: str = ""
    machine: Machine | None = None
    date: str = ""
    command: str = ""
    seed: int
    scenarios: int
    looks: int
    left_out: tuple[Left, ...]
    instances: dict[str, str]
    findings: dict[str, str]
    answers: dict[str, dict[str, Answer]]


def digest(value: object) -> str:
    """Ten hexadecimal digits that stand for a value of plain data."""
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:10]


def kept(number: float) -> float:
    """The number as the record keeps it."""
    return float(f"{number:.{_DIGITS}g}")


def write(record: Record, path: Path) -> None:
    """Write a record, a problem to a line; an older file is replaced only by a finished one."""
    head = msgspec.to_builtins(record)
    answers: dict[str, Any] = head.pop("answers")
    opening = _compact(head)[:-1]
    rows = [b'"%b":%b' % (name.encode(), _compact(row)) for name, row in sorted(answers.items())]
    write_bytes(path, opening + b',"answers":{\n' + b",\n".join(rows) + b"\n}}\n")


def read(path: Path) -> Record:
    """Read a record.

    Raises
    ------
    InvalidInputError
        If the file cannot be read or is not a record.
    """
    return read_as(Record, path, "a behaviour record", "record it again")


def updated(old: Record, new: Record) -> Record:
    """The older record with the answers of the newer one in place of its own.

    The provenance stays that of the older record, which most answers are of; its command is followed by the
    newer one with date and commit.

    Raises
    ------
    InvalidInputError
        If they asked different questions: other random problems, scenarios or looks, or an instance that is
        no longer the same.
    """
    for name in ("seed", "scenarios", "looks"):
        if getattr(old, name) != getattr(new, name):
            raise InvalidInputError(f"the record was made with other {name}; record all of it again")
    for problem in old.instances.keys() & new.instances.keys():
        whole = old.answers.get(problem, {}).keys() <= new.answers[problem].keys()
        if old.instances[problem] != new.instances[problem] and not whole:
            raise InvalidInputError(
                f"the instance of {problem!r} is another one now; record all settings of it again"
            )
    answers = {**old.answers}
    for problem, row in new.answers.items():
        answers[problem] = {**old.answers.get(problem, {}), **row}
    commit = "" if new.commit is None else f" at {new.commit.id[:10]}"
    return msgspec.structs.replace(
        old,
        command=f"{old.command}; on {new.date}{commit}: {new.command}",
        instances={**old.instances, **new.instances},
        findings={**old.findings, **new.findings},
        answers=answers,
    )


def _compact(value: object) -> bytes:
    return msgspec.json.encode(value, order="deterministic")
