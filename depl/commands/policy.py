"""What ``depl policy`` does; `depl.arguments.policy` declares its options.

``depl policy decide`` stands in `depl.commands.policy_decide`, as it has to be quick.
"""

import argparse
import json

from depl.commands.answer import Answer, ExitCode
from depl.commands.figures import policy_figure
from depl.commands.options import figure_files, inside, read_instance, require_outputs
from depl.commands.progress import Watched
from depl.models.foundation.documents import read_text, write_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.result import PolicyResult
from depl.models.policy.solve import solve_policy
from depl.models.problem.policy import Policy, json_schema
from depl.models.solving.result import Termination
from depl.showing import json_of, view
from depl.showing.policies import mathematics


def run_solve(options: argparse.Namespace) -> Answer:
    """Plan a policy, and write it where one was found and asked for."""
    require_outputs([options.out], [options.instance])
    instance = read_instance(options)
    with Watched(f"{options.rung} policy", instance.units, "policy") as watched:
        result = solve_policy(
            instance,
            options.rung,
            failure_cost=options.failure_cost,
            gap=options.gap,
            time_limit=options.time_limit,
            data=_data(options.data),
            switch_epochs=options.switch_epochs,
            abandon_at_start=options.abandon_at_start,
            progress=watched.progress,
        )
    explanation = mathematics(result) if options.explain else ""
    text = "\n\n".join(filter(None, [str(result), explanation]))
    code, aside = exit_code(result), [explanation] if options.json and explanation else []
    if options.out:
        try:  # the answer is worth showing even if a file cannot be written after all
            aside.append(_written(result.policy, options.out))
        except InvalidInputError as error:
            code, aside = ExitCode.INVALID, [*aside, f"depl: {error}"]
    return Answer(text, code, json_of(result), "\n\n".join(filter(None, aside)))


def _data(given: list[tuple[str, tuple[str, ...]]] | None) -> dict[str, tuple[str, ...]] | None:
    """Datasets by cluster; None for all.

    Raises
    ------
    InvalidInputError
        If a cluster is named twice.
    """
    if given is None:
        return None
    clusters = [cluster for cluster, _ in given]
    for cluster in clusters:
        if clusters.count(cluster) > 1:
            raise InvalidInputError(f"names cluster {cluster!r} twice", "--data")
    return dict(given)


def run_show(options: argparse.Namespace) -> Answer:
    """A policy as rows, and as a figure where that is asked for."""
    require_outputs(figure_files(options.figure), [options.policy, options.traces])
    if options.traces is not None and options.figure is None:
        raise InvalidInputError("runs are drawn over a figure; name one by --figure", "--runs")
    policy = read_policy(options.policy)
    drawn = policy_figure(options.figure, policy, options.traces, options.metric)
    text = view(policy, details=options.details).text()
    return Answer(text, json=policy.to_json().rstrip("\n"), aside=drawn)


def run_schema(options: argparse.Namespace) -> Answer:
    """The JSON Schema, indented."""
    return Answer(json.dumps(json_schema(), indent=2))


def read_policy(path: str) -> Policy:
    """The policy in a file.

    Raises
    ------
    InvalidInputError
        With the file in front of the place inside it.
    """
    with inside(path):
        return Policy.from_json(read_text(path))


def exit_code(result: PolicyResult) -> ExitCode:
    """What an outcome means to the shell."""
    if result.termination is Termination.INFEASIBLE:
        return ExitCode.INFEASIBLE
    if result.policy is None:
        return ExitCode.NOTHING
    stopped = result.termination in (Termination.TIME_LIMIT, Termination.INTERRUPTED)
    return ExitCode.STOPPED if stopped else ExitCode.ANSWERED


def _written(policy: Policy | None, path: str) -> str:
    if policy is None:
        return f"{path} not written: there is no policy"
    write_text(path, policy.to_json())
    return f"policy written to {path}"
