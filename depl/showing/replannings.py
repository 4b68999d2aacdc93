"""A replanning for people: what the old rest still delivers, the new rest, and which one to follow."""

from depl.models.foundation.wording import counted, counter_probability, number, probability, rounded_down
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.replanning import Choice, Replanning
from depl.showing.parts import Pairs, Section
from depl.showing.plans import models_in_words
from depl.showing.results import result_sections

_CHOICES = {
    Choice.NEW: "the new rest",
    Choice.OLD: "the old rest, as planned",
    Choice.RETIMED: "the epochs of the old rest, with the cheapest resources for the time that is left",
    Choice.STOP: "stop here",
    Choice.NONE: "nothing: no rest is known that is allowed",
}
_OVER_ALL_RUNS = "yes, under the law: the promise made at the start, if the rule is followed in every state"
_NOT_PROVED = (
    "not proved: residuals kept per run, and margins, are drawn afresh in every state; count it on real runs"
)
_MET = ": the target is met"
_LOST = ": the old rest cannot meet the target any more, and no other is known to"


def replanning_brief(found: Replanning) -> str:
    """One line on a replanning."""
    amount = found.instance.units.amount
    cost = "" if found.cost_to_go is None else f", cost to go {amount(found.cost_to_go, 'cost')}"
    return f"<Replanning after epoch {found.state.epoch}: follow {found.choice.value}{cost}>"


def replanning_sections(found: Replanning) -> list[Section]:
    """The old rest, the new one, and what to do."""
    return [
        Section("", Pairs(_old_rest(found))),
        Section("New rest, given the state", result_sections(found.result)[0].body),
        Section("", Pairs(_follow(found))),
    ]


def _old_rest(found: Replanning) -> list[tuple[str, str]]:
    instance, state, old = found.instance, found.state, found.old
    target, violation = instance.target, old.evaluation.violation
    limit = "" if target.maximum_time is None else f" of {number(target.maximum_time)}"
    level, units = number(target.maximum_loss), instance.units
    if violation.exact is None or old.evaluation.fitted:  # runs are counted: never exactly
        missed = violation.upper if violation.exact is None else violation.exact
        reached = f"at least {counter_probability(missed)}"
    else:
        reached = f"is {probability(float(1 - violation.exact))}"
    law = " under the fitted law, of which the last loss is all that is taken from the run"
    certified = f"{reached}, certified{law if instance.has_memory else ''}"
    chance = certified if old.outside is None else f"is not known: {old.outside}"
    met = "met: to stop now costs nothing more" if found.met else "not met yet"
    pairs = [
        ("state", f"after epoch {state.epoch} of at most {target.maximum_epochs}, loss {number(state.loss)}"),
        ("target", f"{level}, {met}"),
        ("time used", units.after(f"{number(state.elapsed_time)}{limit}", "time")),
        ("paid so far", f"{units.amount(found.sunk_cost, 'cost')}, as planned"),
        (
            "old rest",
            f"{_epochs(instance, old.plan)}; cost to go {units.amount(old.evaluation.cost, 'cost')}",
        ),
        (f"P(l(K) <= {level} | state)", f"{chance}; omega is {probability(target.quantile_level)}"),
    ]
    if old.broken:
        pairs.append(("does not keep", ", ".join(old.broken)))
    return pairs


def _follow(found: Replanning) -> list[tuple[str, str]]:
    why = "" if found.choice is not Choice.STOP else _MET if found.met else _LOST
    pairs = [("follow", _CHOICES[found.choice] + why)]
    if found.keep_promise:
        pairs.append(("kept over all runs", _OVER_ALL_RUNS if found.holds_over_all_runs else _NOT_PROVED))
        pairs += _why_below_the_bound(found)
    if found.plan is not None:
        amount = found.instance.units.amount
        pairs += [
            ("cost to go", f"{amount(found.cost_to_go, 'cost')} for {_epochs(found.instance, found.plan)}"),
            ("cost in all", amount(found.total_cost, "cost")),
        ]
    return pairs


def _why_below_the_bound(found: Replanning) -> list[tuple[str, str]]:
    """Why an old rest may cost less than the lower bound of the new one, where it does."""
    cost, bound = found.cost_to_go, found.result.lower_bound
    if found.choice not in (Choice.OLD, Choice.RETIMED) or cost is None or cost >= bound:
        return []
    asked = f"probability {rounded_down(found.level, 9)} is asked of a new rest: what the old one delivers"
    why = "and a margin, as it is known as a certified interval only; the old rest is kept without the margin"
    return [("below the bound", f"{asked} {why}")]


def _epochs(instance: Instance, plan: Plan) -> str:
    models = models_in_words(plan, instance)
    return counted(len(plan.epochs), "epoch") + (f" ({models})" if models else "")
