"""The mathematics of a policy in numbers: the objective, the price of failures, the bound and the gap."""

from depl.models.foundation.wording import number, percentage, probability, rounded_down, rounded_up
from depl.models.policy.result import PolicyResult
from depl.showing.policies import is_counted

_DIGITS = 7


def mathematics(result: PolicyResult) -> str:
    """Each step from the price of a failed run to the certified gap, as far as it was come to."""
    parts = ["Mathematics", _problem(result)]
    if result.ratio is not None and result.failure_cost is not None:
        parts.append(_price(result, result.ratio, result.failure_cost))
    if result.policy is not None and result.objective is not None:
        parts.append(_held(result, result.objective))
    if result.lower_bound > 0:
        parts.append(_bound(result))
    return "\n".join(parts)


def _problem(result: PolicyResult) -> str:
    target = result.instance.target
    omega = probability(target.quantile_level)
    return (
        "  minimise      J = C + rho F  subject to  F <= 1 - omega\n"
        f"                over policies; C the expected cost, F = P(stopped without a loss of at most "
        f"{number(target.maximum_loss)}),\n"
        f"                1 - omega = 1 - {omega} = {number(float(target.violation_budget))}"
    )


def _price(result: PolicyResult, ratio: tuple[float, float], rho: float) -> str:
    lower, upper = (rounded_down(ratio[0], _DIGITS), rounded_up(ratio[1], _DIGITS))
    given = result.policy is not None and result.policy.failure_cost_rule == "given"
    source = f"given; at least {upper} is allowed" if given else f"1.5 * {upper}"
    law = "under the same law with independent residuals" if is_counted(result) else "of any"
    return (
        f"  rho*          in [{lower}, {upper}], the least C / (P(reached) - P(met untrained)) {law}\n"
        f"  rho           = {source} = {number(rho, _DIGITS)}\n"
        "                without a price the least C at P(reached) >= omega is had by not training at all in "
        "some runs,\n"
        "                at random or on bad first losses; from rho* on that saves nothing"
    )


def _held(result: PolicyResult, objective: float) -> str:
    cost, missed = rounded_up(result.cost or 0.0, _DIGITS), rounded_up(1 - (result.reached or 0.0), _DIGITS)
    method = result.policy.certificate.method if result.policy is not None else ""
    how = (
        "sums over all combinations of the runs that lend to the stages"
        if method == "counted"
        else "sums over the chain of the ledger, every rounding against the policy"
    )
    lines = [
        f"  C             <= {cost}, F <= {missed}: {how}",
        f"  J             <= {cost} + {number(result.failure_cost, _DIGITS)} * {missed} = "
        f"{rounded_up(objective, _DIGITS)}",
    ]
    if result.per_success is not None:
        lines.append(
            f"  C / P         <= {rounded_up(result.per_success, _DIGITS)}, the expected cost of a success"
        )
    return "\n".join(lines)


def _bound(result: PolicyResult) -> str:
    bound = rounded_down(result.lower_bound, _DIGITS)
    lines = []
    if result.multiplier is not None and result.failure_cost is not None:
        price, rho = number(result.multiplier, _DIGITS), number(result.failure_cost, _DIGITS)
        budget = number(float(result.instance.target.violation_budget))
        if result.promise_binds:
            lines.append(
                f"  lambda        = {price} > rho: at this price of a failure the best just keeps the promise"
            )
            lines.append(
                "  J of any      >= V(lambda) - (lambda - rho) (1 - omega)\n"
                f"                =  V(lambda) - ({price} - {rho}) * {budget} >= {bound}"
            )
        else:
            lines.append(
                "  lambda        = rho: the best policy without a promise keeps it, so that it is slack"
            )
            lines.append(f"  J of any      >= V(rho) >= {bound}")
    else:
        lines.append(f"  J of any      >= {bound}")
    lines.append(
        f"                V: least C + lambda F over losses rounded down, on {result.cells} points, "
        "every rounding downwards"
    )
    if result.gap is not None:
        lines.append(f"  gap           = 1 - bound / J = {percentage(result.gap)}, certified")
    return "\n".join(lines)
