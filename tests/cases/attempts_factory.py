"""Attempts for tests, made without solving anything."""

import msgspec

from depl.benchmarks.measure.attempt import Attempt, Task
from depl.benchmarks.measure.provenance import Commit, Machine

MACHINE = Machine(cpu="test", cores=2, memory_gib=4.0, system="test")


def attempt_of(
    instance="one",
    configuration="exact",
    *,
    suite="made-up",
    seed=0,
    cost=None,
    bound=None,
    ending=None,
    seconds=1.0,
    **changes,
):
    """An attempt with a plan of that cost, or without one; ``exhausted`` unless said otherwise."""
    ending = ending or "exhausted"
    if ending == "optimal" and bound is None:
        bound = cost
    held = "none" if cost is None else "proven_optimal" if ending == "optimal" else "feasible"
    made = Attempt(
        task=Task(suite=suite, version=1, instance=instance, configuration=configuration, seed=seed),
        labels={},
        method=configuration,
        meaning="law",
        settings={"time_limit": 60.0, "gap": 0.0, "scenarios": None, "options": {}},
        instance_hash=f"hash of {instance}",
        ending=ending,
        solution=held,
        cost=cost,
        lower_bound=bound,
        violation=None,
        epochs=None,
        epochs_by_model={},
        plan=None,
        measures={},
        reason=None,
        wall_seconds=seconds,
        cpu_seconds=seconds,
        build_seconds=None if seconds is None else 0.0,
        total_seconds=seconds or 60.0,
        peak_gibibytes=0.1,
        started="2026-01-01T00:00:00+00:00",
        commit=Commit(id="0123456789abcdef", dirty=False),
        python="3.12.0",
        versions={"depl": "0.1.0"},
        machine=MACHINE,
    )
    return msgspec.structs.replace(made, **changes)
