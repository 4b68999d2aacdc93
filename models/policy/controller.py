"""What leads one run: after every epoch, whether to go on, switch or stop.

A training loop needs three lines:

    controller = depl.Controller("policy.json", log="run.jsonl")
    decision = controller.start(evaluate())
    while not isinstance(decision, depl.Stop):
        train(decision.model, decision.cluster)
        decision = controller.observe(evaluate())
"""

import contextlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from depl.models.foundation.documents import read_text, reason_of
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.decisions import Decision, Stop
from depl.models.policy.rules import Rules, Standing, plan_rules, policy_rules
from depl.models.problem.plan import Plan
from depl.models.problem.policy import Policy

try:
    import fcntl
except ImportError:  # not on Windows, where the size of the file alone tells of another writer
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:  # it comes with numpy, which a policy can do without
    from depl.models.policy.replanned import Replanned
    from depl.models.problem.instance import Instance
    from depl.models.solving.replanning import Replanning

FORMAT, VERSION = "depl-run", 1
_SHOWN = 12
"""Keys that a message lists."""

Record = dict[str, Any]


class Controller:
    """What leads one run by a policy, by a plan, or by planning again after every epoch; and its log.

    What is certified holds for runs that are led like this: every epoch is observed, by the same evaluation
    that the traces of its law held. A run stops as reached as soon as its loss meets the target and its model
    may be the last. It can be pickled, and `resume` makes it again from the log of a process that was killed.

    Parameters
    ----------
    policy : Policy, Plan, Instance, path or str
        A policy, the path of its file or its JSON text. With ``instance`` a plan, whose epochs are trained
        as planned until the target is reached. An instance, or one with ``replan``: the rest of the run is
        planned again after every epoch so that the promise of the first plan is kept, which ``method`` finds.
    log : str or path, optional
        A new file. After every decision, before it is returned, a line of JSON is added and brought to the
        disk.
    instance : Instance, path or str, optional
        That of a plan.
    replan : bool
        Plan the rest again after every epoch; with a plan, begin with that.
    method : str, optional
        A registered method, for every rest; by default the default one.
    time_limit : float, optional
        Wall seconds for each rest.
    seed : int

    Raises
    ------
    InvalidInputError
        If the policy cannot be read, the plan is not one of the instance, or the log exists already.

    Examples
    --------
    >>> import depl
    >>> found = depl.solve_policy(depl.load("paper-alexnet-9"), gap=0.1)
    >>> controller = depl.Controller(found.policy)
    >>> controller.start(13.0).kind
    'continue'
    >>> controller.observe(8.5)
    Stop(reason='reached', epoch=1, loss=8.5, note='')
    """

    def __init__(
        self,
        policy: "Policy | Plan | Instance | Rules | str | os.PathLike[str]",
        log: str | os.PathLike[str] | None = None,
        *,
        instance: "Instance | str | os.PathLike[str] | None" = None,
        replan: bool = False,
        method: str | None = None,
        time_limit: float | None = None,
        seed: int = 0,
    ) -> None:
        asked = {"method": method, "time_limit": time_limit, "seed": seed}
        self._strategy = _strategy(policy, instance, replan, asked)
        self._standing: Standing | None = None
        self._records: list[Record] = []
        self._log: _RunLog | None = None
        if log is not None:
            log = _file(log)
            if os.path.exists(log) and os.path.getsize(log):
                raise InvalidInputError(
                    "exists already; go on with it by Controller.resume(policy, log), or name a new file", log
                )
            self._log = _RunLog(log, self._header)

    @classmethod
    def resume(
        cls,
        policy: "Policy | Plan | Instance | Rules | str | os.PathLike[str]",
        log: str | os.PathLike[str],
        **given: Any,
    ) -> Self:
        """The controller of a run whose process has ended, from its log, which it goes on with.

        Its `decision` is the last one of the log, None if nothing was observed yet: then call `start`. An
        epoch whose line is unfinished counts as not yet observed. Without the file, or with an empty one,
        the run is new. A plan of the rest is taken from the log as it stands there.

        Parameters
        ----------
        **given
            ``instance``, ``replan``, ``method``, ``time_limit`` and ``seed``, as the run was begun.

        Raises
        ------
        InvalidInputError
            If the log is of another policy, or holds what this policy did not decide.
        """
        log = _file(log)
        lines, (size, unfinished) = _read_lines(log) if os.path.exists(log) else ([], (0, 0))
        found = cls(policy, **given)
        if lines:
            found._replay(lines, log)
        whole = (size, unfinished) if lines else (0, size + unfinished)
        found._log = _RunLog(log, found._header, *whole)
        return found

    def start(self, loss: float | None = None) -> Decision:
        """What to do before the first epoch.

        Parameters
        ----------
        loss : float, optional
            l(0). Without it a run that is planned again counts on that of its instance; else the first epoch
            is trained, if its law retains nothing of it, and the decision has the loss NaN.

        Raises
        ------
        InvalidInputError
            If the run has begun already, the loss is no number, or the policy decides on l(0).
        """
        if self._standing is not None:
            raise InvalidInputError(
                f"the run has begun already, and {self._standing.decision.epoch} epochs are observed; "
                "call observe after each epoch, or make another Controller for another run"
            )
        return self._come(None if loss is None else _number(loss))

    def observe(self, loss: float, elapsed_time: float | None = None) -> Decision:
        """What to do after the epoch that the last decision asked for.

        Parameters
        ----------
        loss : float
            After the epoch. A loss that is not finite stops the run as abandoned.
        elapsed_time : float, optional
            That the epoch took, for a run that is planned again; by default as planned [time].

        Raises
        ------
        InvalidInputError
            If the run has not begun, or has stopped; or if the loss is none, or has no logarithm where the
            law is one of logarithms and the model may not be the last. The run then stands where it stood.
        """
        if self._standing is None:
            raise InvalidInputError("the run has not begun; call start with the loss before the first epoch")
        decision = self._standing.decision
        if isinstance(decision, Stop):
            raise InvalidInputError(
                f"the run stopped after epoch {decision.epoch} ({decision.reason}); make another Controller "
                "for another run"
            )
        return self._come(_number(loss), elapsed_time)

    def __repr__(self) -> str:
        """What leads the run, how far it is, and what was decided last."""
        done = f"{self.epoch} of at most {self.last_epoch} epochs, cost {self.cost:.6g}"
        return f"<Controller: {self._strategy.name}; {done}; {self.why() or 'not begun: call start'}>"

    @property
    def decision(self) -> Decision | None:
        """The last decision; None before `start`."""
        return None if self._standing is None else self._standing.decision

    @property
    def epoch(self) -> int:
        """Epochs observed so far."""
        return max(0, len(self._records) - 1)

    @property
    def last_epoch(self) -> int:
        """The most epochs that the run may take: K_max, or the length of a plan that is followed."""
        return self._strategy.last

    @property
    def models(self) -> tuple[str, ...]:
        """Those that the run may train, by name."""
        return tuple(sorted({model for model, _ in self._strategy.sites}))

    @property
    def clusters(self) -> tuple[str, ...]:
        """Those that the run may train on, by name."""
        return tuple(sorted({cluster for _, cluster in self._strategy.sites}))

    @property
    def cost(self) -> float:
        """Of the epochs observed so far, at the resources that were planned [cost]."""
        return 0.0 if self._standing is None else self._standing.cost

    @property
    def ledger(self) -> int | None:
        """The index that a policy is looked up at; None before `start`, and where the run diverged."""
        return None if self._standing is None else self._standing.ledger

    @property
    def rest(self) -> Plan | None:
        """The plan that the rest of a run that is planned again follows, with resources; None for others."""
        return getattr(self._standing and self._standing.at, "plan", None)

    @property
    def replanning(self) -> "Replanning | None":
        """What planning again found at the last decision; None where the log alone says it."""
        return getattr(self._standing and self._standing.at, "found", None)

    @property
    def records(self) -> tuple[Record, ...]:
        """What the log holds of every epoch so far, from epoch 0 on."""
        return tuple(dict(record) for record in self._records)

    @property
    def fingerprint(self) -> str:
        """Of all that decides in the policy; logs are of a policy with this one."""
        return self._strategy.fingerprint

    def why(self) -> str:
        """The last decision in a sentence, with the losses that it holds for; empty before `start`."""
        if self._standing is None:
            return ""
        decision = self._standing.decision
        if isinstance(decision, Stop):
            head = f"stop, {decision.reason}: {decision.note or _REASONS[decision.reason]}"
        else:
            where = f"{decision.model} on {decision.cluster}"
            head = f"{decision.kind}: train epoch {decision.epoch + 1} with {where}"
            if math.isnan(decision.loss):
                return f"{head} (whatever the loss before it is, which was not evaluated)"
        rests_on = self._strategy.why(self._standing)
        return f"{head} (after epoch {decision.epoch} with loss {decision.loss:.6g}{rests_on})"

    @property
    def _header(self) -> Record:
        told = {"policy": self.fingerprint, "name": self._strategy.name}
        return {"format": FORMAT, "version": VERSION, **told}

    def _come(self, loss: float | None, elapsed_time: float | None = None) -> Decision:
        """Note a loss and what follows from it, first on the disk."""
        standing = self._strategy.arrive(self._standing, loss, elapsed_time, None)
        record = _record(self._standing, standing, loss)
        if self._log is not None:
            self._log.append(record)
        self._records.append(record)
        self._standing = standing
        return standing.decision

    def _replay(self, lines: list[tuple[int, Record]], path: str) -> None:
        """Come to the end of a log by its losses, and hold each line against what is decided."""
        _require_header(lines[0][1], self.fingerprint, path)
        for number, record in lines[1:]:
            if isinstance(self.decision, Stop):
                raise InvalidInputError(f"line {number} stands after the end of the run; remove it", path)
            loss, first = _read(record.get("loss")), self._standing is None
            try:
                given = None if first and loss is None else _number(loss)
                standing = self._strategy.arrive(self._standing, given, record.get("elapsed_time"), record)
            except InvalidInputError as error:
                raise InvalidInputError(f"line {number}: {error.message}", path) from error
            made = _record(self._standing, standing, given)
            if made != record:
                raise InvalidInputError(
                    f"line {number} is not what this policy decides: {_difference(made, record)}; the log "
                    "was changed, or made by another version",
                    path,
                )
            self._records.append(made)
            self._standing = standing


def led(
    controller: Controller, log: str | os.PathLike[str], loss_key: str = "loss", epoch_key: str = "epoch"
) -> Controller:
    """A new controller, led to the end of a log, which it writes nothing to.

    The log is one of a `Controller`, or lines of JSON each of which holds an epoch and the loss after it,
    under these keys, from epoch 0 on, or from epoch 1 where the policy does not decide on l(0); other lines
    are passed over.

    Raises
    ------
    InvalidInputError
        If an epoch is missing or stands twice, or trained something else than was decided; if the run stops
        before the last one; and as `Controller.resume`.
    """
    log = _file(log)
    lines, _ = _read_lines(log)
    if not os.path.getsize(log):  # a controller that has not begun
        return controller
    if lines and lines[0][1].get("format") == FORMAT:
        controller._replay(lines, log)
        return controller
    unseen = controller._strategy.begins_unseen
    for line, loss, trained in _read_losses(lines, loss_key, epoch_key, log, unseen=unseen):
        try:
            _require_decided(controller, trained)
            if controller.decision is None and trained[epoch_key] == 1:
                controller.start()
            controller.start(_read(loss)) if controller.decision is None else controller.observe(_read(loss))
        except InvalidInputError as error:
            raise InvalidInputError(f"line {line}: {error.message}", log) from error
    return controller


def _require_decided(controller: Controller, trained: Record) -> None:
    """Refuse an epoch that names another model or cluster of the policy than was decided."""
    decision = controller.decision
    if decision is None or isinstance(decision, Stop):
        return
    told = ("model", decision.model, controller.models), ("cluster", decision.cluster, controller.clusters)
    for key, wanted, known in told:
        found = trained.get(key)
        if found != wanted and found in known:
            raise InvalidInputError(
                f"the epoch trained {key} {found!r}, and the policy had decided on {wanted!r}: nothing "
                "is known of a run that did not follow it"
            )


def _difference(made: Record, record: Record) -> str:
    """The first key of a line of the log that differs from what is decided there."""
    name = next(name for name in {**made, **record} if made.get(name, ...) != record.get(name, ...))
    is_there, would = (f"{line[name]!r:.80}" if name in line else "missing" for line in (record, made))
    return f"{name} is {is_there} and would be {would}"


def _file(log: Any) -> str:
    try:
        return os.fsdecode(log)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"must be the name of a file, not {log!r:.80}", "log") from error


def _number(loss: Any) -> float:
    """A loss, whatever number it is of: numpy's and torch's own become plain ones."""
    if not isinstance(loss, str | bytes | bool | type(None)):
        try:
            return float(loss)
        except (TypeError, ValueError, OverflowError):
            pass
    raise InvalidInputError(f"a loss is a number, not {loss!r}", "loss")


def _read(loss: Any) -> Any:
    """A loss as a log holds it: JSON has no numbers that are not finite."""
    return float(loss) if loss in ("nan", "inf", "-inf") else loss


def _record(before: Standing | None, standing: Standing, loss: float | None) -> Record:
    """A line of the log."""
    decision = standing.decision
    finite = loss is None or math.isfinite(loss)
    found: Record = {"epoch": decision.epoch, "loss": loss if finite else str(loss)}
    if before is not None and not isinstance(before.decision, Stop):
        found |= {"model": before.decision.model, "cluster": before.decision.cluster}
    found |= {"ledger": standing.ledger, "cost": standing.cost, "decision": decision.kind}
    if isinstance(decision, Stop):
        found |= {"reason": decision.reason, **({"note": decision.note} if decision.note else {})}
    else:
        found |= {"next_model": decision.model, "next_cluster": decision.cluster}
    return {**found, **(standing.note or {})}


_REASONS = {
    "reached": "the target is met, and the model of this epoch is kept",
    "deadline": "the target is not met, and no epoch is left",
    "abandoned": "the target is not met, and the policy goes no further with this run",
}
_NEEDS_INSTANCE = (
    "; a plan is followed with its instance: Controller(plan, instance=instance), or depl policy decide PLAN "
    "--instance INSTANCE --log RUN.jsonl"
)
_HINTS = {
    "PolicyResult": "; give its policy",
    "Result": "; give its plan, and instance=",
    "Plan": _NEEDS_INSTANCE,
}
"""What to do with what is no policy, by its class."""


def _strategy(policy: Any, instance: Any, replan: bool, asked: dict[str, Any]) -> "Rules | Replanned":
    """What leads a run, of what a controller is given."""
    if isinstance(policy, Rules):
        return policy
    if replan or type(policy).__name__ == "Instance":
        from depl.models.policy.replanned import Replanned  # with all that solves
        from depl.models.problem.instance import Instance

        plan = None if instance is None else given_as(Plan, policy)
        return Replanned(given_as(Instance, policy if instance is None else instance), plan, asked)
    if asked != {"method": None, "time_limit": None, "seed": 0}:
        raise InvalidInputError("method, time_limit and seed are for replan=True; leave them out", "policy")
    if instance is not None:
        from depl.models.problem.instance import Instance

        return plan_rules(given_as(Plan, policy), given_as(Instance, instance))
    if policy is None:
        raise InvalidInputError("there is no policy: result.reason says why none was found", "policy")
    try:
        return policy_rules(given_as(Policy, policy))
    except InvalidInputError as error:
        hint = _NEEDS_INSTANCE if "a 'depl-plan' document" in error.message else ""
        raise InvalidInputError(error.message + hint, error.path) from error


def given_as(kind: Any, given: Any) -> Any:
    """A document that is given as such, as its JSON text or as the path of its file.

    Raises
    ------
    InvalidInputError
        If it is none of these, or cannot be read.
    """
    if isinstance(given, kind):
        return given
    if not isinstance(given, str | os.PathLike):
        found = type(given).__name__
        hint = _HINTS.get(found, "") if kind is Policy else ""
        message = f"must be {kind.__name__}, the path of its file or its JSON text, not {found}{hint}"
        raise InvalidInputError(message, kind.__name__.lower())
    if isinstance(given, str) and given.lstrip().startswith("{"):
        return kind.from_json(given)
    text = read_text(os.fspath(given))
    try:
        return kind.from_json(text)
    except InvalidInputError as error:
        raise error.within(f"{os.fspath(given)}: ") from error


# --- the log of a run: a line of JSON after every decision, kept before the decision is acted on ---------
#
# The first line names the policy by its fingerprint; each further one holds an epoch: the loss after it, what
# it trained, and what was decided then. A process that is killed leaves at most its last line unfinished, and
# that is dropped: its epoch counts as not yet observed.


class _RunLog:
    """A file that lines are added to, each of which is on the disk before `append` returns.

    Its first line is written with that of the first decision: a run that was refused before it leaves no log
    that another one would have to go on with. ``size`` are the bytes of its whole lines, and ``unfinished``
    those of one behind them, which is taken away.
    """

    def __init__(self, path: str, first: Record, size: int = 0, unfinished: int = 0) -> None:
        self.path, self.size, self._first = path, size, first
        with self._opened() as file:  # refused before the first epoch is trained, and not after it
            if unfinished and file.seek(0, os.SEEK_END) == size + unfinished:
                file.truncate(size)

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a line, or refuse where it cannot be written, or where someone else wrote to the file."""
        records = [record] if self.size else [self._first, record]
        line = "".join(json.dumps(one, allow_nan=False) + "\n" for one in records).encode()
        with self._opened() as file:
            there = file.seek(0, os.SEEK_END)
            if there != self.size:
                raise InvalidInputError(
                    f"holds {there} bytes and not the {self.size} of this run: something else has "
                    "written to it; keep one log for each run, or go on from it with Controller.resume",
                    self.path,
                )
            try:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                with contextlib.suppress(OSError):
                    file.truncate(self.size)
                raise
        self.size += len(line)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """The file, to add to; while it is open, another writer waits."""
        try:
            with open(self.path, "ab") as file:
                if fcntl is not None:
                    with contextlib.suppress(OSError):  # of a file system without locks
                        fcntl.flock(file, fcntl.LOCK_EX)
                yield file
        except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(f"cannot be written ({reason_of(error)})", self.path) from error


def _read_lines(path: str) -> tuple[list[tuple[int, Record]], tuple[int, int]]:
    """All whole lines, with their numbers from 1; the bytes of these, and of what stands behind them."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
        raise InvalidInputError(f"cannot be read ({reason_of(error)})", path) from error
    whole = content[: content.rfind(b"\n") + 1]
    found = []
    for number, line in enumerate(whole.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"line {number} is not JSON: {error}", path) from error
        if not isinstance(record, dict):
            raise InvalidInputError(f"line {number} is no JSON object", path)
        found.append((number, record))
    return found, (len(whole), len(content) - len(whole))


def _require_header(record: Record, fingerprint: str, path: str) -> None:
    """Refuse a log that is not ours, or of another policy, with what to do."""
    version, policy = record.get("version"), str(record.get("policy"))
    message = ""
    if record.get("format") != FORMAT:
        message = (
            f"line 1 does not open a {FORMAT!r} log; 'depl policy decide --log' also reads lines with epoch "
            "and loss"
        )
    elif version != VERSION:
        message = f"version {version} is not known to this depl, which reads {VERSION}; update one of them"
    elif policy != fingerprint:
        message = (
            f"is the log of another policy, {record.get('name')!r} (fingerprint {policy[:12]}, this one has "
            f"{fingerprint[:12]}); give that policy, or another log"
        )
    if message:
        raise InvalidInputError(message, path)


def _read_losses(
    lines: list[tuple[int, Record]], loss_key: str, epoch_key: str, path: str, *, unseen: bool
) -> Iterator[tuple[int, Any, Record]]:
    """Line, loss and all else of epochs 0, 1, ..., or from 1 on where l(0) may be ``unseen``, of any log."""
    found = [(number, record) for number, record in lines if loss_key in record and epoch_key in record]
    if not found:
        keys = sorted({key for _, record in lines for key in record})
        has = f"its lines have {', '.join(keys[:_SHOWN])}" if keys else "it has no whole line"
        raise InvalidInputError(
            f"no line has both {epoch_key!r} and {loss_key!r}; {has}: name the keys by --epoch and --loss",
            path,
        )
    before, begun = 0, int(unseen and found[0][1][epoch_key] == 1)
    for expected, (number, record) in enumerate(found, start=begun):
        epoch = record[epoch_key]
        if epoch != expected or isinstance(epoch, bool):
            why = f"is of epoch {epoch}, and should be of epoch {expected}"
            if expected == 0:
                why = f"begins with epoch {epoch}; the loss before the first epoch stands at epoch 0"
            elif epoch == expected - 1:
                why = f"epoch {epoch} stands on line {before} already; keep one of the two"
            raise InvalidInputError(f"line {number}: {why}", path)
        yield number, record[loss_key], record
        before = number
