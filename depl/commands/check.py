"""``depl check``: what the independent verifier says of a plan."""

from typing import TYPE_CHECKING

from depl.commands import options as given
from depl.commands.answer import Answer, ExitCode
from depl.commands.inputs import figure_files, inside, plan_figure, read_instance, read_plan, require_outputs
from depl.commands.options import Options, command, option
from depl.models.foundation.errors import InvalidInputError

if TYPE_CHECKING:
    from depl.models.problem.plan import Plan
    from depl.models.scenarios.draws import Scenarios


@command(
    examples="""\
depl solve tiny --method exact --out plan.json
depl check tiny plan.json
depl check tiny plan.json --json
"""
)
@given.instance
@given.plan
@option(
    "--scenarios FILE.npz",
    "the scenarios that the plan was made for; needed where they are not of a seeded stream",
)
@given.figure("the plan")
@given.as_json("the findings")
def check(options: Options) -> Answer:
    """Verify a plan, independently of all solvers."""
    from depl.models.scenarios.files import load_scenarios
    from depl.models.verifier.verify import verify
    from depl.showing import json_of

    require_outputs(figure_files(options.figure), [options.instance, options.plan, options.scenarios])
    instance, plan = read_instance(options), read_plan(options.plan)
    with inside(options.plan):
        plan.check_names(instance)
    draws = None
    if options.scenarios is not None:
        scenarios = load_scenarios(options.scenarios, instance)
        _require_same_origin(plan, scenarios, options.scenarios)
        draws = scenarios.improvements, scenarios.switch_losses
    report = verify(instance, plan, draws)
    code = ExitCode.ANSWERED if report.ok else ExitCode.INFEASIBLE
    aside = plan_figure(options.figure, instance, plan)
    return Answer(str(report), code, json_of(report, epochs=len(plan.epochs)), aside)


def _require_same_origin(plan: "Plan", scenarios: "Scenarios", path: str) -> None:
    """Refuse a file whose seed or rounding is not the plan's; its arrays are the verifier's affair."""
    claim = None if plan.claims is None else plan.claims.scenarios
    if claim is None:
        return
    for name, found, wanted in (
        ("seed", scenarios.seed, claim.seed),
        ("decimals", scenarios.decimals, claim.decimals),
    ):
        if found != wanted:
            raise InvalidInputError(
                f"is {_or_none(found)} in the file, {_or_none(wanted)} in the plan; give the scenarios "
                "that the plan was made for",
                f"{path}: {name}",
            )


def _or_none(value: int | None) -> str:
    return "none" if value is None else str(value)
