"""``depl check``: what the independent verifier says of a plan."""

import depl
from depl.commands import options as given
from depl.commands.answer import Answer
from depl.models.foundation.errors import InvalidInputError


@given.command("""\
depl solve tiny --method exact --out plan.json
depl check tiny plan.json
depl check tiny plan.json --json
""")
@given.instance
@given.plan
@given.option(
    "--scenarios FILE.npz",
    "the scenarios that the plan was made for; needed where they are not of a seeded stream",
)
@given.figure("the plan")
@given.as_json("the findings")
def check(options: given.Options) -> Answer:
    """Verify a plan, independently of all solvers."""
    from depl.models.scenarios.draws import load_scenarios

    instance = given.read_instance(options)
    plan, draws = given.read_plan(options.plan, instance), None
    if options.scenarios is not None:
        scenarios = load_scenarios(options.scenarios, instance)
        claim = plan.claims and plan.claims.scenarios
        for name in ("seed", "decimals") if claim else ():
            found, wanted = getattr(scenarios, name), getattr(claim, name)
            if found != wanted:  # its arrays are the verifier's affair
                raise InvalidInputError(
                    f"is {_or_none(found)} in the file, {_or_none(wanted)} in the plan; give the scenarios "
                    "that the plan was made for",
                    f"{options.scenarios}: {name}",
                )
        draws = scenarios.improvements, scenarios.switch_losses
    report = depl.check(instance, plan, draws)
    aside = given.plan_drawn(options.figure, instance, plan)
    return given.shown(report, report.ok, aside, of={"epochs": len(plan.epochs)})


def _or_none(value: int | None) -> str:
    return "none" if value is None else str(value)
