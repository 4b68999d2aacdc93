"""All that the page on a plan tells, gathered: nothing is worded here."""

from dataclasses import dataclass

from depl.models.evaluation.evaluate import Evaluation, evaluate
from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation.deadline import OutOfTimeError, deadline
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.early_stopping import EarlyStopping, early_stopping
from depl.models.solving.explain_limits import declared
from depl.models.solving.methods import Limits
from depl.models.verifier.verify import Report, verify
from depl.reporting.offers import Offers, Solver, offers_for


@dataclass(frozen=True)
class PlanFacts:
    """What is known of a plan.

    Attributes
    ----------
    evaluation : Evaluation
    verified : Report
        The independent verifier's word; its ``ok`` is the verdict of the page.
    rests_on : str or None
        What the probabilities rest on, where the law was fitted to runs.
    stopping : EarlyStopping or None
        None if it is not known.
    no_stopping : str
        Why not.
    offers : Offers or None
        None if no solves were asked for.
    """

    instance: Instance
    plan: Plan
    evaluation: Evaluation
    verified: Report
    rests_on: str | None
    stopping: EarlyStopping | None
    no_stopping: str
    offers: Offers | None

    @property
    def has_law(self) -> bool:
        """Whether a law of the plan's final loss is known."""
        return declared(self.evaluation)


def facts_of(
    instance: Instance, plan: Plan, solver: Solver | None, seconds: float | None = None
) -> PlanFacts:
    """Evaluate, verify, and solve for prices and other plans if there is a solver.

    Parameters
    ----------
    seconds : float, optional
        What early stopping does is left out if it takes longer.

    Raises
    ------
    InvalidInputError
        If the plan does not speak of the instance, outlasts its tables or makes a forbidden switch.
    """
    evaluation = evaluate(instance, plan, lenient=True)
    known = declared(evaluation)
    stopping, reason = None, "no law of the final loss is known for this plan"
    if known:
        try:
            with deadline(Limits(time_limit=seconds).lateness):
                stopping = early_stopping(instance, plan, evaluation.violation)
        except InvalidInputError as error:
            reason = error.message
        except OutOfTimeError:
            reason = f"it takes longer than the limit of {seconds:g} seconds"
    return PlanFacts(
        instance=instance,
        plan=plan,
        evaluation=evaluation,
        verified=verify(instance, plan),
        rests_on=loss_law(instance).basis(plan) if known else None,
        stopping=stopping,
        no_stopping="" if stopping else reason,
        offers=None if solver is None else offers_for(instance, solver),
    )
