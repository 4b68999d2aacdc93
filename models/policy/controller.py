"""A policy at work: after every epoch of one run, whether to go on, switch or stop.

A training loop needs three lines:

    controller = depl.Controller("policy.json", log="run.jsonl")
    decision = controller.start(evaluate())
    while not isinstance(decision, depl.Stop):
        train(decision.model, decision.cluster)
        decision = controller.observe(evaluate())

What is certified of a policy holds for runs that are led like this: every epoch is observed, by the same
evaluation that the traces of its law held. A run stops as reached as soon as its loss meets the target and
its model may be the last.

Where nobody recorded the loss before the first epoch, ``controller.start()`` without one begins the run: its
first epoch is trained whatever that loss is, and what it retains of it is nothing.

A plan is followed in the same way, `Controller(plan, instance=instance)`: its epochs are trained as planned,
and the run stops as soon as the target is reached.

Nothing but the standard library is imported for a policy, so that it can run wherever a model is trained.
"""

import math
import os
from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.policy.decisions import Continue, Decision, Reason, Stop, Switch
from depl.models.policy.ledger import first_index, next_index
from depl.models.policy.rules import STOP, Place, Rules, Training, read_rules
from depl.models.policy.run_log import (
    Record,
    RunLog,
    header,
    is_header,
    read_lines,
    read_losses,
    require_header,
)

if TYPE_CHECKING:  # it comes with msgspec and numpy
    from depl.models.problem.instance import Instance
    from depl.models.problem.plan import Plan
    from depl.models.problem.policy import Policy

DIVERGED = "the loss is not finite: the run diverged"
BEYOND = "the loss is beyond the grid of the policy, which ends there"


class _Standing(NamedTuple):
    """Where a run stands after an epoch, and what was decided.

    ``scaled`` is the loss on the scale of the law; None where it was not evaluated, and, as is ``ledger``,
    where the run diverged.
    """

    number: int
    scaled: float | None
    ledger: int | None
    cost: float
    decision: Decision
    next: Training | None


class Controller:
    """What leads one run by a policy, or by a plan: its ledger, its cost, and its log.

    It can be pickled, and `resume` makes it again from the log of a process that was killed.

    Parameters
    ----------
    policy : Policy, Plan, path or str
        A policy, the path of its file, its JSON text, or its rules as `read_rules` makes them; with
        ``instance`` a plan.
    log : str or path, optional
        A new file. After every decision, before it is returned, a line of JSON is added and brought to the
        disk.
    instance : Instance, path or str, optional
        That of a plan.

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
        policy: "Policy | Plan | Rules | str | os.PathLike[str]",
        log: str | os.PathLike[str] | None = None,
        *,
        instance: "Instance | str | os.PathLike[str] | None" = None,
    ) -> None:
        self._rules = read_rules(policy, instance)
        self._standing: _Standing | None = None
        self._records: list[Record] = []
        self._log: RunLog | None = None
        if log is not None:
            log = _file(log)
            if os.path.exists(log) and os.path.getsize(log):
                raise InvalidInputError(
                    "exists already; go on with it by Controller.resume(policy, log), or name a new file", log
                )
            self._log = RunLog(log, header(self.fingerprint, self._rules.name))

    @classmethod
    def resume(
        cls,
        policy: "Policy | Plan | Rules | str | os.PathLike[str]",
        log: str | os.PathLike[str],
        *,
        instance: "Instance | str | os.PathLike[str] | None" = None,
    ) -> Self:
        """The controller of a run whose process has ended, from its log, which it goes on with.

        Its `decision` is the last one of the log, None if nothing was observed yet: then call `start`. An
        epoch whose line is unfinished counts as not yet observed. Without the file, or with an empty one,
        the run is new.

        Raises
        ------
        InvalidInputError
            If the log is of another policy, or holds what this policy did not decide.
        """
        log = _file(log)
        lines, size = read_lines(log) if os.path.exists(log) else ([], 0)
        found = cls(policy, instance=instance)
        if lines:
            found._replay(lines, log)
        found._log = RunLog(log, header(found.fingerprint, found._rules.name), size if lines else 0)
        found._log.cut()
        return found

    def start(self, loss: float | None = None) -> Decision:
        """What to do before the first epoch.

        Parameters
        ----------
        loss : float, optional
            l(0). Without it the first epoch is trained, if its law retains nothing of it; the decision then
            has the loss NaN.

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
        return self._come(loss)

    def observe(self, loss: float) -> Decision:
        """What to do after the epoch that the last decision asked for.

        Parameters
        ----------
        loss : float
            After the epoch. A loss that is not finite stops the run as abandoned.

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
        return self._come(loss)

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
        """The most epochs that the run may take: K_max of a policy, the length of a plan."""
        return self._rules.last

    @property
    def models(self) -> tuple[str, ...]:
        """Those that the run may train, by name."""
        return tuple(sorted({item.model for one in self._rules.places for item in one.trainings}))

    @property
    def clusters(self) -> tuple[str, ...]:
        """Those that the run may train on, by name."""
        return tuple(sorted({item.cluster for one in self._rules.places for item in one.trainings}))

    @property
    def cost(self) -> float:
        """Of the epochs observed so far, at the resources that the policy counts on [cost]."""
        return 0.0 if self._standing is None else self._standing.cost

    @property
    def ledger(self) -> int | None:
        """The index that the policy is looked up at; None before `start`, and where the run diverged."""
        return None if self._standing is None else self._standing.ledger

    @property
    def records(self) -> tuple[Record, ...]:
        """What the log holds of every epoch so far, from epoch 0 on."""
        return tuple(dict(record) for record in self._records)

    @property
    def fingerprint(self) -> str:
        """Of all that decides in the policy; logs are of a policy with this one."""
        return self._rules.fingerprint

    def why(self) -> str:
        """The last decision in a sentence, with the losses that it holds for; empty before `start`."""
        return "" if self._standing is None else _told(self._rules, self._standing)

    def _come(self, loss: float | None) -> Decision:
        """Note a loss and what follows from it, first on the disk."""
        standing = _stood(self._rules, self._standing, loss)
        record = _record(self._standing, standing)
        if self._log is not None:
            self._log.append(record)
        self._records.append(record)
        self._standing = standing
        return standing.decision

    def _replay(self, lines: list[tuple[int, Record]], path: str) -> None:
        """Come to the end of a log by its losses alone, and hold each line against it."""
        require_header(lines[0][1], self.fingerprint, path)
        for number, record in lines[1:]:
            if isinstance(self.decision, Stop):
                raise InvalidInputError(f"line {number} stands after the end of the run; remove it", path)
            before = self._standing
            try:
                standing = _stood(self._rules, before, _read(record.get("loss")))
            except InvalidInputError as error:
                raise InvalidInputError(f"line {number}: {error.message}", path) from error
            made = _record(before, standing)
            if made != record:
                raise InvalidInputError(
                    f"line {number} is not what this policy decides: {_difference(made, record)}; the log "
                    "was changed, or made by another version",
                    path,
                )
            self._records.append(made)
            self._standing = standing


def led(
    policy: "Policy | Rules | str | os.PathLike[str]",
    log: str | os.PathLike[str],
    loss_key: str = "loss",
    epoch_key: str = "epoch",
) -> Controller:
    """The controller that a log leads to, which writes nothing.

    Parameters
    ----------
    log : str or path
        A log of a `Controller`, or lines of JSON each of which holds an epoch and the loss after it, from
        epoch 0 on, or from epoch 1 where the policy does not decide on l(0); lines without these keys are
        passed over.
    loss_key, epoch_key : str
        Where lines that are not our own hold the two.

    Raises
    ------
    InvalidInputError
        If an epoch is missing or stands twice, or trained something else than the policy decided; if the
        policy stops before the last one; and as `Controller.resume`.
    """
    controller, (lines, _), path = Controller(policy), read_lines(log), os.fspath(log)
    if not os.path.getsize(log):  # a controller that has not begun
        return controller
    if lines and is_header(lines[0][1]):
        controller._replay(lines, path)
        return controller
    unseen = begins_unseen(controller._rules)
    for line, loss, trained in read_losses(lines, loss_key, epoch_key, path, unseen=unseen):
        try:
            _require_decided(controller, trained)
            if controller.decision is None and trained[epoch_key] == 1:
                controller.start()
            controller.start(_read(loss)) if controller.decision is None else controller.observe(_read(loss))
        except InvalidInputError as error:
            raise InvalidInputError(f"line {line}: {error.message}", path) from error
    return controller


def decide(policy: "Policy | Rules | str | os.PathLike[str]", losses: Iterable[float | None]) -> Decision:
    """What a policy decides after the last of the losses l(0), l(1), ..., l(k) of a run that it has led.

    None stands for an l(0) that was not evaluated; see `Controller.start`.

    Raises
    ------
    InvalidInputError
        If there is no loss, or the policy stops before the last one.
    """
    controller = Controller(policy)
    for index, loss in enumerate(losses):
        decision = controller.observe(_number(loss)) if index else controller.start(loss)
    if controller.decision is None:
        raise InvalidInputError("there is none; the first one is that before the first epoch", "losses")
    return decision


def _require_decided(controller: Controller, trained: Record) -> None:
    """Refuse an epoch that names another model or cluster of the policy than was decided."""
    decision = controller.decision
    if decision is None or isinstance(decision, Stop):
        return
    places = controller._rules.places
    for key, wanted in (("model", decision.model), ("cluster", decision.cluster)):
        found = trained.get(key)
        if found != wanted and any(found == getattr(item, key) for one in places for item in one.trainings):
            raise InvalidInputError(
                f"the epoch trained {key} {found!r}, and the policy had decided on {wanted!r}: nothing "
                "is known of a run that did not follow it"
            )


def _difference(made: Record, record: Record) -> str:
    """The first key of a line of the log that differs from what is decided there."""
    for name in {**made, **record}:
        if name not in made:
            return f"it has a key {name!r:.80}, which is none of its own"
        if name not in record:
            return f"{name} is missing and would be {made[name]!r}"
        if made[name] != record[name]:
            return f"{name} is {record[name]!r:.80} and would be {made[name]!r}"
    return "its keys differ"


def _file(log: Any) -> str:
    """The name of a log.

    Raises
    ------
    InvalidInputError
        If it is none.
    """
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


def begins_unseen(rules: Rules) -> bool:
    """Whether a run may begin without its l(0): it then trains, and the first epoch retains nothing of it."""
    place = rules.places[rules.start]
    return place.actions[-1] != STOP and all(training.retention == 0 for training in place.trainings)


def _stood(rules: Rules, before: _Standing | None, loss: Any) -> _Standing:
    """Where a run comes to with a loss as it was given or read; without one only before the first epoch."""
    if before is not None or loss is not None:
        return _arrive(rules, before, _number(loss))
    if not begins_unseen(rules):
        raise InvalidInputError(
            "a loss is a number, not None, and this policy decides on that before the first epoch: evaluate "
            "the model, and give it",
            "loss",
        )
    place = rules.places[rules.start]
    return _going_on(rules, rules.start, None, rules.cells - 1, 0.0, place.actions[-1], math.nan)


def _arrive(rules: Rules, before: _Standing | None, loss: float) -> _Standing:
    """Where a run comes to with a loss, and what is decided there."""
    training = None if before is None else before.next
    number = rules.start if training is None else training.following
    place = rules.places[number]
    cost = 0.0 if before is None or training is None else before.cost + training.price
    if not math.isfinite(loss):
        return _Standing(number, None, None, cost, _stop(rules, place, loss, STOP, DIVERGED), None)
    scaled = _scaled(rules, place, loss)
    index = _index(rules, before, scaled)
    if before is None and not place.may_stop and begins_unseen(rules):
        index = min(index, rules.cells - 1)  # nothing depends on l(0), wherever the losses of the law end
    if place.may_stop and scaled <= rules.limit + ATOM_TOLERANCE:
        return _Standing(number, scaled, index, cost, Stop("reached", place.epoch, loss), None)
    if index >= rules.cells:
        return _Standing(number, scaled, index, cost, _stop(rules, place, loss, index, BEYOND), None)
    action = place.actions[bisect_left(place.upto, index)]
    if action == STOP:
        return _Standing(number, scaled, index, cost, _stop(rules, place, loss, index), None)
    return _going_on(rules, number, scaled, index, cost, action, loss)


def _going_on(
    rules: Rules, number: int, scaled: float | None, index: int, cost: float, action: int, loss: float
) -> _Standing:
    """Where one more epoch is trained."""
    place = rules.places[number]
    following = place.trainings[action]
    stays = place.model is None or (place.model, place.cluster) == (following.model, following.cluster)
    decided = Continue if stays else Switch
    decision = decided(following.model, following.cluster, place.epoch, loss)
    return _Standing(number, scaled, index, cost, decision, following)


def _scaled(rules: Rules, place: Place, loss: float) -> float:
    """A finite loss on the scale of the law; a loss without a logarithm is below all others."""
    if rules.scale == "loss":
        return loss
    if loss > 0:
        return math.log(loss)
    if place.may_stop:
        return -math.inf
    raise InvalidInputError(
        f"is {loss:g}, of which there is no logarithm, and the policy is planned on logarithms of the loss; "
        f"{place.model or 'the model'} may not be the last, so that it does not count as met: check the "
        "evaluation",
        "loss",
    )


def _index(rules: Rules, before: _Standing | None, scaled: float) -> int:
    """The state of the policy: the ledger, or the loss rounded up."""
    if scaled == -math.inf:
        return 0
    if before is None or before.next is None or not rules.ledger:
        return first_index(scaled, rules.origin, rules.step)
    index, training = before.ledger, before.next
    assert index is not None  # noqa: S101 - a run that diverged has stopped
    old = 0.0 if before.scaled is None else before.scaled  # what was not seen is multiplied by 0
    return next_index(index, old, scaled, training.shift, training.retention, rules.origin, rules.step)


def _stop(rules: Rules, place: Place, loss: float, index: int, note: str = "") -> Stop:
    reason: Reason = "deadline" if place.epoch == rules.last else "abandoned"
    if note:
        reason = "abandoned"
    elif index <= rules.target and place.may_stop:
        reason = "reached"
    return Stop(reason, place.epoch, loss, note)


def _record(before: _Standing | None, standing: _Standing) -> Record:
    """A line of the log."""
    decision = standing.decision
    loss = decision.loss
    unseen = standing.scaled is None and standing.next is not None
    found: Record = {"epoch": decision.epoch, "loss": loss if math.isfinite(loss) else str(loss)}
    if unseen:
        found["loss"] = None
    if before is not None and before.next is not None:
        found |= {"model": before.next.model, "cluster": before.next.cluster}
    found |= {"ledger": standing.ledger, "cost": standing.cost, "decision": decision.kind}
    if isinstance(decision, Stop):
        found["reason"] = decision.reason
        if decision.note:
            found["note"] = decision.note
    else:
        found |= {"next_model": decision.model, "next_cluster": decision.cluster}
    return found


_REASONS = {
    "reached": "the target is met, and the model of this epoch is kept",
    "deadline": "the target is not met, and no epoch is left",
    "abandoned": "the target is not met, and the policy goes no further with this run",
}


def _told(rules: Rules, standing: _Standing) -> str:
    decision = standing.decision
    if isinstance(decision, Stop):
        head = f"stop, {decision.reason}: {decision.note or _REASONS[decision.reason]}"
    else:
        where = f"{decision.model} on {decision.cluster}"
        head = f"{decision.kind}: train epoch {decision.epoch + 1} with {where}"
    if standing.scaled is None and standing.next is not None:
        return f"{head} (whatever the loss before it is, which was not evaluated)"
    return f"{head} (after epoch {decision.epoch} with loss {decision.loss:.6g}{_cell(rules, standing)})"


def _cell(rules: Rules, standing: _Standing) -> str:
    """The losses for which the same is decided."""
    index, place = standing.ledger, rules.places[standing.number]
    met = standing.scaled is not None and place.may_stop and standing.scaled <= rules.limit + ATOM_TOLERANCE
    if index is None or index >= rules.cells or met or rules.cells == 1:
        return ""  # with one cell, as of a plan, the same is decided at any loss above the target
    row = bisect_left(place.upto, index)
    high = _loss(rules, place.upto[row])
    held = f", which counts as at most {_loss(rules, index)}" if rules.ledger else ""
    if row == 0:
        return f"{held}; so up to {high}"
    return f"{held}; so from {_loss(rules, place.upto[row - 1] + 1)} to {high}"


def _loss(rules: Rules, index: int) -> str:
    value = rules.origin + index * rules.step
    try:
        return f"{math.exp(value) if rules.scale == 'log' else value:.6g}"
    except OverflowError:
        return "any"
