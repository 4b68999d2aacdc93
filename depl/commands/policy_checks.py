"""What ``depl policy check``, ``simulate`` and ``replay`` do; see `depl.arguments.policy`."""

import argparse
import math
from typing import Any

from depl.commands.answer import Answer, ExitCode
from depl.commands.json_text import as_json
from depl.commands.options import read_instance
from depl.commands.policy import read_policy
from depl.instances.training.recorded import named_traces
from depl.models.policy.replay import Replay, replay
from depl.models.policy.simulation import Simulation, simulate
from depl.models.verifier.policies import PolicyReport, verify_policy
from depl.showing.parts import text_of
from depl.showing.policy_reports import (
    policy_report_sections,
    replay_sections,
    simulation_sections,
)
from depl.showing.reports import names_of


def run_check(options: argparse.Namespace) -> Answer:
    """What the independent evaluator says; a policy that fails is an answer."""
    report = verify_policy(read_instance(options), read_policy(options.policy))
    code = ExitCode.ANSWERED if report.ok else ExitCode.INFEASIBLE
    return Answer(text_of(policy_report_sections(report)), code, as_json(_report(report)))


def run_simulate(options: argparse.Namespace) -> Answer:
    """Follow the policy on drawn runs; a claim that they refute is an answer with a code of its own."""
    policy = read_policy(options.policy)
    found = simulate(read_instance(options), policy, options.runs, seed=options.seed)
    claimed = policy.certificate
    code = ExitCode.INFEASIBLE if found.refuted else ExitCode.ANSWERED
    text = text_of(simulation_sections(found, claimed.cost, claimed.reached))
    return Answer(text, code, as_json(_simulation(found)))


def run_replay(options: argparse.Namespace) -> Answer:
    """Follow the policy on real runs."""
    policy = read_policy(options.policy)
    found = replay(policy, named_traces(options.traces), options.metric)
    return Answer(text_of(replay_sections(found, policy.certificate.cost)), json=as_json(_replay(found)))


def _report(report: PolicyReport) -> dict[str, Any]:
    found = report.course
    return {
        "ok": report.ok,
        "findings": [
            {
                "rule": item.equation,
                "kind": item.kind.value,
                "ok": item.ok,
                "message": item.message,
                "amount": None if item.amount is None or not math.isfinite(item.amount) else item.amount,
            }
            for item in report.findings
        ],
        "checked": names_of(report.checked),
        "repeated": names_of(report.repeated),
        "course": None if found is None else vars(found),
    }


def _simulation(found: Simulation) -> dict[str, Any]:
    finite = all(map(math.isfinite, found.cost_interval))
    return {
        **vars(found),
        "reached_interval": found.reached_interval,
        "cost_interval": found.cost_interval if finite else None,
    }


def _replay(found: Replay) -> dict[str, Any]:
    finite = all(map(math.isfinite, found.cost_interval))
    return {
        "runs": [vars(run) for run in found.runs],
        "ends": dict(found.ends),
        "delivered": found.delivered,
        "delivered_interval": found.delivered_interval,
        "claimed": found.claimed,
        "cost": found.cost,
        "cost_interval": found.cost_interval if finite else None,
        "per_success": found.per_success if math.isfinite(found.per_success) else None,
    }
