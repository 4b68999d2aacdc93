"""What ``depl policy check``, ``simulate`` and ``replay`` do; see `depl.arguments.policy`."""

import argparse

from depl.commands.answer import Answer, ExitCode
from depl.commands.options import read_instance
from depl.commands.policy import read_policy
from depl.instances.training.recorded import named_traces
from depl.models.policy.replay import replay
from depl.models.policy.simulation import simulate
from depl.models.verifier.policies import verify_policy
from depl.showing import json_of, view


def run_check(options: argparse.Namespace) -> Answer:
    """What the independent evaluator says; a policy that fails is an answer."""
    report = verify_policy(read_instance(options), read_policy(options.policy))
    code = ExitCode.ANSWERED if report.ok else ExitCode.INFEASIBLE
    return Answer(view(report).text(), code, json_of(report))


def run_simulate(options: argparse.Namespace) -> Answer:
    """Follow the policy on drawn runs; a claim that they refute is an answer with a code of its own."""
    policy = read_policy(options.policy)
    found = simulate(read_instance(options), policy, options.runs, seed=options.seed)
    claimed = policy.certificate
    code = ExitCode.INFEASIBLE if found.refuted else ExitCode.ANSWERED
    text = view(found, claimed_cost=claimed.cost, claimed_reached=claimed.reached).text()
    return Answer(text, code, json_of(found))


def run_replay(options: argparse.Namespace) -> Answer:
    """Follow the policy on real runs."""
    policy = read_policy(options.policy)
    found = replay(policy, named_traces(options.traces), options.metric)
    return Answer(view(found, claimed_cost=policy.certificate.cost).text(), json=json_of(found))
