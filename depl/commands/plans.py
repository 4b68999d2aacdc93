"""Commands on plans: ``solve``, ``check``, ``explain``, ``front``, ``report``, ``replan`` and ``program``."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import depl
from depl.commands import options as given
from depl.commands.answer import STOPPED, Answer, ExitCode, code_of
from depl.commands.options import Options, option
from depl.commands.printable import as_json, fields
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.memory import MEMORY
from depl.models.solving.defaults import DEFAULT_SCENARIOS, FRONT_POINTS, FRONTS_AGAINST, REPORT_SECONDS

EXIT_CODES = """\
exit codes: 0 answered; 2 wrong usage or input; 3 proved infeasible, or a checked plan that fails, or one
that is not certified; 4 stopped by a limit or by the user with a plan; 5 ended without a plan or a proof;
10 and 11 'policy decide' says to switch, or to stop; 70 internal error"""
_LAST_DIGITS = 1e-9  # quantile functions of two machines differ by less, relatively


@given.command(
    epilog=EXIT_CODES,
    examples="""\
depl solve paper-alexnet-9                   # by the default method, which proves its plan here
depl solve tiny --gap 5% --time-limit 60 --explain --out plan.json
depl solve paper-alexnet-9 --method depl-paper --option eta=400 --json
""",
)
@given.instance
@given.solving(files=True)
@option(
    "--stop-when-stuck",
    "stop once neither the plan nor the bound has moved for a third of the time limit; without one, for as "
    "long as the solve took before, and at least 10 seconds",
)
@option("--explain", "list the decisions, and show the equations with their numbers")
@given.details
@option("--memory GIB", "GiB that a table may take; what needs more is refused", given.NUMBER, default=MEMORY)
@option("--out PLAN.json", "write the plan to this file", given.to_write)
@given.figure("the plan")
@given.as_json("the result")
def solve(options: Options) -> Answer:
    """Find a cheap plan, and prove how much cheaper any plan could be."""
    instance = given.read_instance(options)
    scenarios = _scenarios(options, instance)
    with given.asked_of_solver(options, instance) as asked:
        further = options.pick("memory", "stop_when_stuck")
        result = depl.solve(instance, scenarios=scenarios, **further, **asked)
    refused = result.termination is depl.Termination.INFEASIBLE and result.scenarios is None
    advice = advice_on(instance) if refused and instance.has_memory else None
    return given.answer(
        result,
        _code(result),
        options,
        str(advice or "") + _explained(options, result, instance, result.plan),
        lambda: given.written(options.out, "plan", result.plan),
        lambda: given.plan_drawn(options.figure, instance, result.plan),
    )


def advice_on(instance: depl.Instance) -> Any:
    """Which runs to add; None where more of them change no promise."""
    try:
        return depl.advise(instance)
    except NotCoveredError:
        return None


def _explained(
    options: Options, result: depl.Result, instance: depl.Instance | None, plan: depl.Plan | None
) -> str:
    """How a plan came about, and its numbers in the equations; of an infeasible instance, why."""
    from depl.models.solving.decisions import told

    if not options.explain:
        return ""
    parts = []
    if result.decisions:
        parts.append(f"Decisions of {result.method}\n{told(result.decisions, options.details)}")
    infeasible = result.termination is depl.Termination.INFEASIBLE
    if instance is not None and (plan is not None or (instance.declares_laws and infeasible)):
        parts.append(depl.explain(instance, plan))
    return "\n\n".join(parts)


def _code(result: depl.Result) -> ExitCode:
    return code_of(result.termination.value, result.plan is not None, result.claimed)


def _scenarios(options: Options, instance: depl.Instance) -> Any:
    """How many, or those of a file, whose seed may be told only if it draws them."""
    import numpy as np

    from depl.models.scenarios.draws import draw_scenarios, load_scenarios
    from depl.models.solving.methods import default_method, require_counting

    if not isinstance(options.scenarios, str):
        return options.scenarios
    require_counting(options.method or default_method(instance))
    found = load_scenarios(options.scenarios, instance)
    if found.seed is not None:
        drawn = draw_scenarios(instance, len(found), found.seed, found.decimals)
        for name in ("improvements", "switch_losses"):
            if not np.allclose(getattr(found, name), getattr(drawn, name), rtol=_LAST_DIGITS, atol=0.0):
                other = f"is {found.seed}, whose stream has other numbers; leave the seed out of the file"
                raise InvalidInputError(other, f"{options.scenarios}: seed")
    return found


@given.command("""\
depl solve tiny --method exact --out plan.json
depl check tiny plan.json
depl check tiny plan.json --json
""")
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
    from depl.models.scenarios.draws import load_scenarios

    instance = given.read_instance(options)
    plan, draws = given.read_plan(options.plan, instance), None
    if options.scenarios is not None:
        scenarios = load_scenarios(options.scenarios, instance)
        claim = plan.claims and plan.claims.scenarios
        for name in ("seed", "decimals") if claim else ():
            found, wanted = (
                "none" if (said := getattr(of, name)) is None else said for of in (scenarios, claim)
            )
            if found != wanted:  # its arrays are the verifier's affair
                message = f"is {found} in the file, {wanted} in the plan; give the scenarios that the plan"
                raise InvalidInputError(f"{message} was made for", f"{options.scenarios}: {name}")
        draws = scenarios.improvements, scenarios.switch_losses
    report = depl.check(instance, plan, draws)
    aside = given.plan_drawn(options.figure, instance, plan)
    return given.shown(report, report.ok, aside, of={"epochs": len(plan.epochs)})


@given.command("""\
depl solve tiny --method exact --out plan.json
depl explain tiny plan.json
""")
@given.instance
@given.argument(
    "[PLAN]",
    "the path of a plan, as 'depl solve --out' writes it; without one the instance is explained",
)
@given.figure("the plan")
def explain(options: Options) -> Answer:
    """Show the equations with the numbers of a plan.

    Without a plan: whether the instance has one, which limit alone would have to give way where it has none,
    and the nearest values of each limit that are reached.
    """
    if options.plan is None:
        if options.figure is not None:
            raise InvalidInputError("draws a plan; give one, or leave it out", "--figure")
        return Answer(depl.explain(given.read_instance(options)))
    instance, plan = given.read_instance(options), given.read_plan(options.plan)
    with given.inside(options.plan):
        text = depl.explain(instance, plan)
        return Answer(text, aside=given.plan_drawn(options.figure, instance, plan))


_PARAMETERS = ("between", "points", "method", "gap", "time_limit", "seed")
"""Parameters of `depl.front` that are options here."""


@given.command("""\
depl front tiny --against probability --points 5 --plans plans
depl front tiny --against loss --out front.json    # the same line again goes on where it stopped
""")
@given.instance
@option(
    "--against", "the budget that varies: l_max, T_max or omega", given.Choice(FRONTS_AGAINST), required=True
)
@option(
    "--points N",
    "evenly spaced budgets; for omega, 0.9, 0.95 and 0.99 besides",
    given.COUNT,
    default=FRONT_POINTS,
)
@option(
    "--between LOW HIGH",
    "the budgets; default: from the loosest to the tightest that a plan is found for, and the instance's",
    given.NUMBER,
    nargs=2,
)
@given.method
@given.gap
@given.time_limit
@given.seed
@option(
    "--out FILE",
    "write the front to this file, JSON or CSV; .json is updated after every point, and gone on with",
    given.to_write,
)
@option("--plans DIR", "write the plan of every point, and the instance with its budget")
@given.figure("it")
@given.as_json("the front")
def front(options: Options) -> Answer:
    """Find the cost of certified plans against l_max, T_max or omega.

    Each point is a plan that 'depl check' accepts at its budget, with a proved lower bound of the cost of any
    plan there; budgets that no plan keeps are proved infeasible.
    """
    folder = None if options.plans is None else given.make_folder(options.plans)
    found = _found(options)
    return given.answer(
        found,
        _code_of_front(found),
        options,
        "",
        lambda: _front_written(found, options.out),
        lambda: "" if folder is None else _plans_written(found, folder, [options.instance, options.out]),
        lambda: given.drawn(options.figure, "point", found.points and (lambda: depl.plot.front(found))),
    )


def _found(options: Options) -> depl.Front:
    from depl.commands.progress import bar
    from depl.models.foundation.wording import counted

    instance = given.read_instance(options)
    asked = options.pick(*_PARAMETERS)
    file = options.out if (options.out or "").endswith(".json") else None  # a form that can be gone on with
    with bar("range", options.points) as step, given.inside("", _PARAMETERS):

        def tell(so_far: depl.Front) -> None:
            step(f"{len(so_far)} of {counted(so_far.asked, 'point')}", so_far.asked)

        return depl.front(instance, options.against, **asked, file=file, on_point=tell)


def _front_written(found: depl.Front, path: str | None) -> str:
    """Write the front as CSV; as JSON it is there already."""
    from depl.models.foundation.tables import shown
    from depl.models.solving.front import COLUMNS

    if path is None or path.endswith(".json"):
        return f"front written to {path}" if path else ""
    page = io.StringIO()
    csv.writer(page, lineterminator="\n").writerows(
        [COLUMNS, *(map(shown, row.values()) for row in found.rows())]
    )
    return given.written(path, "front", page.getvalue())


def _plans_written(found: depl.Front, folder: Path, taken: list[str | None]) -> str:
    """Write the plan of every point with its instance, and say how to check one."""
    from depl.models.foundation.wording import counted

    named, kept = "", [point for point in found if point.plan is not None]
    for point in kept:
        stem = f"{found.against.value}-{point.budget:.12g}"
        files = [str(folder / f"{stem}.{kind}.json") for kind in ("instance", "plan")]
        given.require_outputs(files, taken)
        given.written(files[0], "instance", found.instance_at(point.budget))
        given.written(files[1], "plan", point.plan)
        named = f"; to check one: depl check {files[0]} {files[1]}"
    return f"{counted(len(kept), 'plan')} written to {folder}{named}"


def _code_of_front(found: depl.Front) -> ExitCode:
    if found.points and all(point.infeasible for point in found):
        return ExitCode.INFEASIBLE
    if all(point.plan is None for point in found):
        return ExitCode.NOTHING
    return ExitCode.ANSWERED if found.complete else ExitCode.STOPPED


@given.command("""\
depl solve tiny --method exact --out plan.json
depl report tiny plan.json --no-prices       # into plan.html, at once
depl report tiny plan.json --out page.html --time-limit 2
""")
@given.instance
@given.plan
@option("--out FILE.html", "the page", given.to_write, default="plan.html")
@option("--certificate FILE", "what 'depl certify --json' said of fresh runs of this plan", given.to_read)
@option(
    "--prices/--no-prices",
    "solve for the probabilities 0.90, 0.95 and 0.99, and by other methods, or leave that out",
    default=True,
)
@option(
    "--time-limit S",
    "seconds of each of these solves, of the picture and of early stopping",
    given.positive_seconds,
    default=f"{REPORT_SECONDS:g}",
)
def report(options: Options) -> Answer:
    """Write one page on a plan for whoever pays: promise, prices, proof."""
    from depl.commands.progress import following
    from depl.models.foundation.documents import read_text
    from depl.reporting.facts import facts_of, read_certificate
    from depl.reporting.page import Source, page_of
    from depl.reporting.words import fresh_runs

    instance, plan, fresh = given.read_instance(options), given.read_plan(options.plan), None
    if options.certificate is not None:
        with given.inside(options.certificate):
            fresh = read_certificate(read_text(options.certificate), instance, plan)

    def solver(target: depl.Instance, method: str) -> depl.Result:
        with following(method, instance.units) as told:
            return depl.solve(target, method, time_limit=options.time_limit, **told)

    with given.inside(options.plan):
        seconds = options.time_limit if options.prices else None
        facts = facts_of(instance, plan, solver if options.prices else None, seconds, fresh)
    further = [] if options.target is None else ["--target", options.target]
    for name in options.imports:
        further += ["--import", name]
    source = Source(options.instance, options.plan, tuple(further), options.certificate)
    page = page_of(facts, source, seconds)
    page.save(options.out)
    state = "accepts the plan" if page.ok else "does NOT accept the plan"
    pairs = [
        (instance.name, f"the verifier {state}"),
        ("promise", page.summary),
        ("fresh runs", "" if fresh is None else fresh_runs(fresh)),
        ("cheaper plans", page.cheaper),
        ("page", f"written to {options.out}"),
        ("prices", "interrupted: the page says which are missing" if page.interrupted else ""),
    ]
    good = ExitCode.STOPPED if page.interrupted else ExitCode.ANSWERED
    return Answer(fields([pair for pair in pairs if pair[1]]), good if page.ok else ExitCode.INFEASIBLE)


@given.command("""\
depl solve tiny --method exact --out plan.json
echo '{"format": "depl-state", "version": 1, "epoch": 0, "loss": 13, "elapsed_time": 0.5}' > state.json
depl replan tiny plan.json state.json --keep-promise --out rest.json
""")
@given.instance
@given.plan
@given.argument(
    "STATE",
    "an observed state (docs/replanning), or the log of a depl.Controller that follows the plan",
)
@given.solving()
@option(
    "--keep-promise",
    "ask for what the old rest would deliver from here, so that the promise made at the start holds "
    "over all runs (under a law fitted to traces only where the answer says so)",
)
@option("--explain", "list the decisions, and show the equations with the numbers of the rest")
@given.details
@option("--out PLAN.json", "write the rest to follow to this file", given.to_write)
@option("--rest REST.json", "write the instance of the rest to this file", given.to_write)
@given.figure("the rest to follow")
@given.as_json()
def replan(options: Options) -> Answer:
    """Plan the rest of a run again, seen from an observed state."""
    instance = given.read_instance(options)
    plan = given.read_plan(options.plan, instance)
    with given.inside(options.state):
        state = _state(options.state, instance, plan)
    with given.asked_of_solver(options, instance) as asked:
        found = depl.replan(instance, plan, state, **options.pick("keep_promise", "scenarios"), **asked)
    return given.answer(
        found,
        _code_of_rest(found),
        options,
        _explained(options, found.result, found.remaining, found.plan),
        lambda: given.written(options.out, "plan of the rest", found.plan),
        lambda: given.written(options.rest, "instance of the rest", found.remaining),
        lambda: given.plan_drawn(options.figure, found.remaining, found.plan),
    )


def _state(path: str, instance: depl.Instance, plan: depl.Plan) -> depl.State:
    """An observed state, or that of a run that a controller leads, from its log: its time is as planned."""
    from depl.models.foundation.documents import read_text
    from depl.models.policy.controller import FORMAT, led
    from depl.models.solving.replanning import check_state, planned_state

    text = read_text(path)
    first, *more = text.split("\n", 1)
    if text and (FORMAT not in first or not more):
        state = depl.State.from_json(text)
    else:
        controller = led(depl.Controller(plan, instance=instance), path)
        if controller.decision is None:
            raise InvalidInputError("holds no loss yet; the plan is still as it was made")
        state = planned_state(instance, plan, controller.epoch, controller.decision.loss)
    check_state(instance, state, plan)
    return state


def _code_of_rest(found: depl.Replanning) -> ExitCode:
    """As for ``solve``; but an old rest that may go on is an answer, whatever was proved of new ones."""
    result = found.result
    code = _code(result)
    if found.choice.value in ("new", "none") or code is ExitCode.INTERNAL:
        return code
    return ExitCode.STOPPED if result.termination.value in STOPPED else ExitCode.ANSWERED


@given.command("""\
depl program tiny --scenarios 50 --out tiny.lp           # its optimum, 28, for any solver
depl program tiny --relaxation --out tiny.mps
""")
@given.instance
@option(
    "--out FILE", "the file; its ending, .lp, .mps or .nl, says the format", given.to_write, required=True
)
@option(
    "--form price|cone",
    "price of time, or resources as variables and cones (.lp, .nl; not for HiGHS)",
    default="price",
)
@option(
    "--scenarios S|FILE.npz",
    f"how many scenarios to draw, or a file of them; default: {DEFAULT_SCENARIOS}",
    given.count_or_file,
)
@option("--seed N", "of the scenarios", given.SEED, default=0)
@option("--relaxation", "do not solve: the optimum is then a lower bound")
@option("--time-limit S", "seconds for solving; default: none", given.NUMBER)
@given.as_json("what the file holds")
def program(options: Options) -> Answer:
    """Write the problem as a mathematical program for any solver, with its optimum.

    The scenarios are counted, and the optimum of the file is the least cost of a plan on them: the problem is
    solved first, and the rows that the proof needed are put into the program. With --relaxation nothing is
    solved, and the optimum is a lower bound; the first line of the file says which of the two it is.
    """
    import pyomo.environ as pyo

    from depl.models.programs.export import export, require_format
    from depl.models.programs.notes import is_linear, note_of
    from depl.models.scenarios.draws import load_scenarios

    require_format(options.out, cones=options.form == "cone")
    instance, scenarios = given.read_instance(options), options.scenarios
    if isinstance(scenarios, str):
        scenarios = load_scenarios(scenarios, instance)
    asked = options.pick("seed", "time_limit")
    model = depl.program(instance, scenarios, options.form, not options.relaxation, **asked)
    note, path = note_of(model), str(export(model, options.out))
    optimum = None if note is None or math.isinf(note["optimum"]) else note["optimum"]
    relaxed = note is None and is_linear(model)
    content = {
        "file": path,
        "form": options.form,
        "finished": note is not None,
        "relaxation": relaxed,
        "optimum": optimum,
        "scenarios": len(model.scenarios),
        "binaries": sum(item.is_binary() for item in model.component_data_objects(pyo.Var)),
        "note": None if note is None else {**note, "optimum": optimum},
    }
    if note is None:
        lower = "a relaxation: its optimum is a lower bound of the cost"
        rows = [(path, lower if relaxed else "exact as it is; not solved")]
    elif optimum is None:
        rows = [(path, "finished, and infeasible: no plan meets the target on these scenarios")]
    else:
        rows = [(path, "finished: its optimum is the least cost of a plan on these scenarios")]
        further = " and a feasibility tolerance of 1e-8" if options.form == "cone" else ""
        rows.append(("optimum", f"{optimum:.12g}; ask your solver for a relative gap of 0{further}"))
    rows += [(name, str(content[name])) for name in ("form", "scenarios", "binaries")]
    return Answer(fields(rows), json=as_json(content))
