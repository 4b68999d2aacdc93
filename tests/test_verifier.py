"""The verifier: what it may import, each equation by name, and every claim altered by little."""

import ast
import sys
from pathlib import Path

import msgspec
import pytest

import depl.models.verifier
from depl.instances.library import load
from depl.models.enumeration import enumerate_plans
from depl.models.methods import register
from depl.models.plan import Bounds
from depl.models.solve import solve
from depl.models.verifier import verify

register("enumerate", enumerate_plans)

MODELS = Path(depl.models.verifier.__file__).parent
DATA = {"errors", "structure", "laws", "learning", "problem", "plan"}
OUTSIDE = {"numpy", "scipy", "msgspec"}
METHODS = {
    "moments", "shape_scale", "log_parameters", "quadrature", "sample", "atoms", "learning_factor",
    "transfer_cost", "switch_law", "epochs_needed", "workload", "violation_budget", "interval_mass",
}  # fmt: skip


def imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return found | {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }


def reachable(start: str) -> set[str]:
    seen, waiting = set(), [start]
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        waiting += [
            name.rpartition(".")[2]
            for name in imports(MODELS / f"{module}.py")
            if name.startswith("depl.models.")
        ]
    return seen


def test_the_verifier_reaches_only_problem_plan_numpy_and_scipy():
    modules = reachable("verifier")
    assert {name for name in modules if not name.startswith("verifier")} <= DATA
    assert any(name.startswith("verifier_") for name in modules)  # the walk walks
    for module in modules:
        for name in imports(MODELS / f"{module}.py"):
            top = name.partition(".")[0]
            assert top == "depl" or top in OUTSIDE or top in sys.stdlib_module_names, (
                module,
                name,
            )


def test_the_verifier_calls_no_method_of_the_laws_and_no_rule_of_the_problem():
    for module in reachable("verifier"):
        if module.startswith("verifier"):
            tree = ast.parse((MODELS / f"{module}.py").read_text(encoding="utf-8"))
            used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            assert not used & METHODS, module


@pytest.fixture(scope="module")
def solved():
    instance = load("tiny")
    return instance, solve(instance, "enumerate").plan


def failures(instance, plan) -> list[str]:
    return [finding.equation for finding in verify(instance, plan).failures]


def test_a_plan_of_the_solver_passes_with_its_own_numbers(solved):
    report = verify(*solved)
    assert report.ok
    assert (report.cost, report.violation.lower, report.violation.upper) == (28.0, 0.25, 0.25)
    assert report.training_time == pytest.approx(5.0, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "equation"),
    [
        ({"quantile_level": 0.8}, "(3)"),
        ({"maximum_loss": 6.0}, "(3)"),
        ({"maximum_time": 4.9}, "(4)"),
        ({"maximum_epochs": 2}, "K_max"),
    ],
)
def test_a_tighter_target_is_reported_by_its_equation(solved, change, equation):
    instance, plan = solved
    bare = msgspec.structs.replace(plan, instance=None, claims=None)
    assert any(equation in name for name in failures(instance.replace(**change), bare))


def test_too_many_resources_violate_equation_5(solved):
    instance, plan = solved
    clusters = tuple(msgspec.structs.replace(item, capacity=2.5) for item in instance.clusters)
    bare = msgspec.structs.replace(plan, instance=None, claims=None)
    assert any("(5)" in name for name in failures(instance.replace(clusters=clusters), bare))


@pytest.mark.parametrize(
    "claim",
    [
        {"cost": 28.0001},
        {"training_time": 4.9999},
        {"violation": Bounds(lower=0.2, upper=0.24)},
        {"quantile": Bounds(lower=6.0, upper=6.2)},
        {"lower_bound": 28.001},
    ],
)
def test_an_altered_claim_is_refused(solved, claim):
    instance, plan = solved
    altered = msgspec.structs.replace(plan, claims=msgspec.structs.replace(plan.claims, **claim))
    assert not verify(instance, altered).ok


def test_dearer_resources_do_not_pass_as_cheapest(solved):
    instance, plan = solved
    epochs = tuple(msgspec.structs.replace(epoch, resources=epoch.resources * 1.01) for epoch in plan.epochs)
    claims = msgspec.structs.replace(plan.claims, cost=None, training_time=None)
    assert not verify(instance, msgspec.structs.replace(plan, epochs=epochs, claims=claims)).ok
