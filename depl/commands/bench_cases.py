"""What ``depl bench cases`` does; `depl.arguments.bench_cases` declares its options."""

import argparse
from pathlib import Path

import msgspec

from depl.benchmarks.measure import results
from depl.benchmarks.measure.registry import Study, all_studies, select
from depl.benchmarks.measure.results import MeasuredGoal, Record, number
from depl.commands.answer import Answer, ExitCode
from depl.commands.inputs import make_folder
from depl.commands.json_text import as_json
from depl.commands.progress import Bar
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted


def run_list(options: argparse.Namespace) -> Answer:
    """Every case with its goals."""
    cases = all_studies()
    content = [
        {
            "case": case.name,
            "summary": case.summary,
            "seed": case.seed,
            "goals": [goal._asdict() for goal in case.goals],
        }
        for case in cases.values()
    ]
    return Answer("\n".join(map(_described, cases.values())), json=as_json({"cases": content}))


def run_run(options: argparse.Namespace) -> Answer:
    """Measure cases; each record is written as soon as it is there."""
    cases, folder = select(options.names, all_studies()), _folder(options)
    done: list[Record] = []
    interrupted = False
    with Bar("cases", len(cases)) as bar:
        try:
            for case in cases:
                record = results.measure(case, smoke=options.smoke, seed=options.seed)
                if not options.smoke:
                    results.write(record, folder)
                    results.write_table(folder)
                done.append(record)
                bar.step(case.name)
        except KeyboardInterrupt:
            interrupted = True
    content = {"records": msgspec.to_builtins(done), "interrupted": interrupted}
    code = ExitCode.STOPPED if interrupted else ExitCode.ANSWERED
    aside = f"Stopped; {len(done)} of {counted(len(cases), 'case')} measured" if interrupted else ""
    return Answer("\n".join(map(_measured, done)), code, as_json(content), aside)


def run_table(options: argparse.Namespace) -> Answer:
    """The records of a folder."""
    records = results.read_all(_folder(options))
    return Answer(
        results.table(records).rstrip("\n"), json=as_json({"records": msgspec.to_builtins(records)})
    )


def run_draw(options: argparse.Namespace) -> Answer:
    """The figure of a case, from its record and from nothing else."""
    # Drawing is all that needs matplotlib, and no other command should wait for it.
    from depl.benchmarks.figures.style import save

    cases = all_studies()
    (case,) = select([options.name], cases)
    if case.draw is None:
        able = ", ".join(name for name, item in cases.items() if item.draw is not None)
        raise InvalidInputError(f"the case {case.name!r} has no figure; those that have one: {able}")
    record = results.read(options.record or results.RESULTS / f"{case.name}.json")
    figure = case.draw(record.values)
    written = [str(path) for path in save(figure, make_folder(options.folder), case.name)]
    return Answer("\n".join(written), json=as_json({"files": written}))


def _folder(options: argparse.Namespace) -> Path:
    return results.RESULTS if options.out is None else Path(options.out)


def _described(case: Study) -> str:
    goals = [
        f"  {goal.name} {goal.comparison} {number(goal.threshold)}: {goal.sentence}" for goal in case.goals
    ]
    return "\n".join([f"{case.name}: {case.summary}", *goals])


def _measured(record: Record) -> str:
    seconds = f"  {record.wall_seconds:.2f} s, {record.cpu_seconds:.2f} s CPU"
    return "\n".join([f"{record.case}: {record.summary}", *map(_judged, record.goals), seconds])


def _judged(goal: MeasuredGoal) -> str:
    asked = f"goal {goal.comparison} {number(goal.threshold)}"
    return f"  {goal.name} = {number(goal.measured)}, {asked}: {'met' if goal.met else 'NOT MET'}"
