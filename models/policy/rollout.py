r"""A policy without a table: the rest is planned again after every epoch, and the promise is kept.

After every epoch the rest of the run is planned again (`depl.models.solving.replanning.replan` with
``keep_promise``): of the new rest it is asked what the old one would deliver given the loss just seen. With V
the conditional probability of missing the target if the plan in force is followed, V is a martingale between
changes (tower property) and does not rise at a change; so over all runs the target is missed with probability
1 - omega at most, the promise of the first plan. A run that is stopped on the target has V = 0, so what is
promised of the *final* loss holds of *reached* here.

The argument needs probabilities given a state to be conditional ones: independent increments, or a traced law
with independent residuals and no deviations (`Rollout.holds_over_all_runs`). Any number of clusters and
datasets, free resources and a limit of the training time are covered, as every rest is an ordinary instance;
there is no lower bound.
"""

import msgspec

from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.decisions import Continue, Decision, Reason, Stop, Switch
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan, PlannedEpoch
from depl.models.solving.observed_state import State, planned_state, sunk_cost
from depl.models.solving.replanning import Choice, Replanning, replan
from depl.models.solving.solve import solve


class Rollout:
    """A run that is planned again after every epoch.

    Parameters
    ----------
    instance : Instance
    plan : Plan, optional
        The first plan, whose promise is kept; by default the one that ``method`` finds.
    method : str, optional
        A registered method, for every rest; by default the default one.
    time_limit : float, optional
        Wall seconds for each rest.
    seed : int

    Attributes
    ----------
    epoch : int
        Epochs trained.
    cost : float
        Paid so far, as planned [cost].
    last : Replanning or None
        What was found at the last decision.
    """

    def __init__(
        self,
        instance: Instance,
        plan: Plan | None = None,
        *,
        method: str | None = None,
        time_limit: float | None = None,
        seed: int = 0,
    ) -> None:
        if plan is None:
            found = solve(instance, method, time_limit=time_limit, seed=seed)
            if found.plan is None:
                raise InvalidInputError(
                    f"no plan was found whose promise could be kept: {found.reason}", "plan"
                )
            plan = found.plan
        plan.check_names(instance)
        self.method, self.time_limit, self.seed = method, time_limit, seed
        self.holds_over_all_runs = loss_law(instance).conditional
        self.epoch, self.cost = 0, 0.0
        self.last: Replanning | None = None
        self._rest, self._plan = instance, plan
        self._model: str | None = None
        self._cluster: str | None = None
        self._stopped = False

    @property
    def next_epoch(self) -> PlannedEpoch | None:
        """Model, cluster and resources of the epoch to train now; None once the run has stopped."""
        return None if self._stopped or not self._plan.epochs else self._plan.epochs[0]

    def start(self, loss: float | None = None) -> Decision:
        """Decide before the first epoch.

        Parameters
        ----------
        loss : float, optional
            l(0), where it was observed; by default that of the instance [loss].
        """
        if self.epoch or self.last is not None:
            raise InvalidInputError("the run has begun already; tell it the next loss by observe", "start")
        initial = self._rest.target.initial_loss
        if loss is None:
            return self._next(initial)
        return self._decide(State(epoch=0, loss=loss))

    def observe(self, loss: float, elapsed_time: float | None = None) -> Decision:
        """Decide after an epoch.

        Parameters
        ----------
        loss : float
            After it [loss].
        elapsed_time : float, optional
            That it took; by default as planned [time].

        Raises
        ------
        InvalidInputError
            If the run has stopped.
        """
        if self.next_epoch is None:
            raise InvalidInputError("the run has stopped; begin another one", "observe")
        state = planned_state(self._rest, self._plan, 1, loss)
        if elapsed_time is not None:
            state = msgspec.structs.replace(state, elapsed_time=elapsed_time)
        self.cost += sunk_cost(self._rest, self._plan, state)
        done = self._plan.epochs[0]
        self._model, self._cluster = done.model, done.cluster
        self.epoch += 1
        return self._decide(state)

    def _decide(self, state: State) -> Decision:
        found = replan(
            self._rest,
            self._plan,
            state,
            self.method,
            keep_promise=True,
            time_limit=self.time_limit,
            seed=self.seed,
        )
        self.last = found
        if found.met:
            return self._stop("reached", state.loss)
        if found.remaining is None or found.plan is None or found.choice is Choice.STOP:
            out = found.remaining is None or found.remaining.target.maximum_epochs == 0
            return self._stop("deadline" if out else "abandoned", state.loss)
        self._rest, self._plan = found.remaining, found.plan
        return self._next(state.loss)

    def _next(self, loss: float) -> Decision:
        """What the plan in force trains now."""
        if not self._plan.epochs:
            target = self._rest.target
            met = loss <= target.maximum_loss and self._rest.rules.may_end(
                self._model or target.initial_model
            )
            return self._stop("reached" if met else "deadline", loss)
        item = self._plan.epochs[0]
        same = self._model is None or (item.model, item.cluster) == (self._model, self._cluster)
        kind = Continue if same else Switch
        return kind(item.model, item.cluster, self.epoch, loss)

    def _stop(self, reason: Reason, loss: float) -> Decision:
        self._stopped = True
        return Stop(reason, self.epoch, loss)
