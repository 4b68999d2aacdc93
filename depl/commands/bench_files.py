"""What ``depl bench export`` and ``recheck`` do.

`depl.arguments.bench_files` declares their options.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.process import LoneProcess
from depl.benchmarks.measure.store import files_of, latest, read_attempts
from depl.benchmarks.sweep.attempting import attempt_alone
from depl.benchmarks.sweep.compact import compact_file, write_compact
from depl.benchmarks.sweep.imports import suites_with
from depl.benchmarks.sweep.recheck import Difference, differences, repeatable, subset
from depl.benchmarks.sweep.request import Request, job_of
from depl.benchmarks.sweep.store import stored_requests
from depl.commands.answer import Answer, ExitCode
from depl.commands.inputs import make_folder, require_outputs, sources
from depl.commands.json_text import as_json
from depl.commands.progress import Bar
from depl.commands.table import table
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted

_SEED = 0


def run_export(options: argparse.Namespace) -> Answer:
    """Write one compact file per suite."""
    attempts = read_attempts(options.file)
    if not attempts:
        raise InvalidInputError("holds no attempts yet", options.file)
    folder = make_folder(options.out)
    suites = dict.fromkeys(attempt.task.suite for attempt in attempts)
    require_outputs([str(compact_file(folder, suite)) for suite in suites], map(str, files_of(options.file)))
    written = [str(path) for path in write_compact(attempts, folder)]
    content = {"attempts": len(attempts), "files": written}
    return Answer(
        "\n".join(written), json=as_json(content), aside=f"{counted(len(attempts), 'attempt')} written"
    )


def run_recheck(options: argparse.Namespace) -> Answer:
    """Solve a part of recorded attempts again, and name every difference."""
    recorded = latest(read_attempts(options.file))
    able = repeatable(recorded)
    if not able:
        raise InvalidInputError("holds no attempt that can be repeated: all ended by the clock", options.file)
    chosen = subset(able, options.seconds, np.random.default_rng(_SEED))
    told = _again(chosen, sources(options) or _remembered(options.file))
    content = {
        "recorded": len(recorded),
        "not_repeatable": len(recorded) - len(able),
        "rechecked": len(chosen),
        "differences": [
            {"attempt": _name(row.attempt), "what": row.name, "recorded": row.recorded, "found": row.found}
            for row in told
        ],
    }
    left_out = len(recorded) - len(able)
    aside = (
        f"{len(chosen)} of {counted(len(recorded), 'recorded attempt')} solved again; "
        f"{left_out} ended by the clock or by accident and are left out"
    )
    if not told:
        return Answer("all the same", json=as_json(content), aside=aside)
    rows = [(_name(row.attempt), row.name, _shown(row.recorded), _shown(row.found)) for row in told]
    text = table(("attempt", "what", "recorded", "found"), rows)
    return Answer(text, ExitCode.INFEASIBLE, as_json(content), aside)


def _remembered(file: str) -> tuple[str, ...]:
    """What was imported when the attempts of a file were made; nothing for files that do not say it."""
    requests = [request for path in files_of(file) for request in stored_requests(path)]
    return tuple(dict.fromkeys(source for request in requests for source in request.imports))


def _again(chosen: Sequence[Attempt], imports: tuple[str, ...]) -> list[Difference]:
    suites = suites_with(imports)
    request = Request(suites=tuple(suites), imports=imports)
    told: list[Difference] = []
    with LoneProcess() as process, Bar("recheck", len(chosen)) as bar:
        for attempt in chosen:
            try:
                job = job_of(attempt.task, suites, _time_limit(attempt), request)
            except InvalidInputError as error:
                told.append(Difference(attempt, "task", "run", f"cannot be run: {error}"))
            else:
                told += differences(attempt, attempt_alone(job, process))
            bar.step(_name(attempt))
    return told


def _time_limit(attempt: Attempt) -> float:
    limit = attempt.settings.get("time_limit")
    if not isinstance(limit, int | float) or not limit > 0:
        raise InvalidInputError(f"its settings.time_limit is {limit!r} instead of positive seconds")
    return float(limit)


def _name(attempt: Attempt) -> str:
    task = attempt.task
    return f"{task.suite}/{task.instance}/{task.configuration}/{task.seed}"


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, float) else str(value)
