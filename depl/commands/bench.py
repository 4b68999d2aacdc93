"""``depl bench``: run studies, ask recorded answers again, show records and figures, and report on them."""

from __future__ import annotations

import secrets
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depl.commands import options as given
from depl.commands.answer import Answer, ExitCode
from depl.commands.options import (
    COUNT,
    SEED,
    Group,
    Options,
    argument,
    make_folder,
    option,
    positive_seconds,
    require_outputs,
    sources,
    together,
)
from depl.commands.printable import as_json, table
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from depl.benchmarks.measure.attempt import Attempt, Job
    from depl.benchmarks.measure.compare import Difference
    from depl.benchmarks.measure.registry import Study
    from depl.benchmarks.measure.results import Record
    from depl.benchmarks.measure.store import Store
    from depl.benchmarks.measure.sweep import Workers

_OF_SWEEPS = ("methods", "limit", "seconds", "fresh")
_OF_MEASUREMENTS = ("smoke", "seed")
_STUDIES = given.shipped("depl.benchmarks.measure.catalogue", "all_studies")
_SUITES = given.shipped("depl.benchmarks.measure.catalogue", "all_suites")

bench = Group(
    "bench",
    help="Run studies: sweeps of methods over instances, and measurements with goals; compare and report.",
    examples="""\
depl bench list
depl bench run paper --limit 1 --methods exact,depl --out few.jsonl
depl bench report                            # of the recorded attempts
""",
)
_workers = together(
    option("--workers N", "so many processes at a time; default: 1", COUNT),
    option(
        "--scheduler ADDRESS",
        "of a running dask scheduler, whose workers solve: tls://host:8786, with certificates as dask's "
        "configuration names them",
    ),
)


@bench.command("""\
depl bench list
depl bench list exact-law                    # with its goals
""")
@argument("[STUDY]...", "only these, with their goals; default: all", name="studies", shell_complete=_STUDIES)
@given.imports
@given.as_json("the studies")
def list_(options: Options) -> Answer:
    """List the studies: those that sweep over instances with methods, and those that measure, with goals."""
    from depl.benchmarks.measure.catalogue import all_studies, chosen, with_imports
    from depl.benchmarks.measure.results import number

    rows, measures, text, content = [], [], [], []
    known = with_imports(all_studies(), sources(options))
    for study in chosen(options.studies or list(known), known):
        told = {"study": study.name, "summary": study.summary, "sweeps": study.sweeps}
        if study.sweeps:
            draws, labels = len(study.instances()), [item.label for item in study.configurations]
            sizes = {"instances": draws, "configurations": labels, "seeds": list(study.seeds)}
            content.append({**told, "version": study.version, **sizes})
            rows.append((study.name, str(draws), str(len(labels)), study.summary))
        else:
            content.append({**told, "seed": study.seed, "goals": [goal._asdict() for goal in study.goals]})
            measures.append((study.name, str(len(study.goals)), study.summary))
            for goal in study.goals if options.studies else ():
                text.append(f"{goal.name} {goal.comparison} {number(goal.threshold)}: {goal.sentence}")
    sweep, measure = ("study that sweeps", "instances", "methods"), ("study that measures", "goals")
    tables = [table((*sweep, "summary"), rows, right=sweep[1:])] if rows else []
    tables += [table((*measure, "summary"), measures, right=measure[1:])] if measures else []
    found = "\n\n".join([*tables, *(["\n".join(text)] if text else [])])
    return Answer(found, json=as_json({"studies": content}))


@bench.command("""\
depl bench run paper --limit 1 --methods fastest-cluster --out few.jsonl
depl bench run random scaling-models --seconds 5 --workers 2
depl bench run exact-law --smoke             # as small as possible, nothing is written
""")
@argument(
    "[STUDY]...",
    "names of 'depl bench list'; default: all that measure",
    name="studies",
    shell_complete=_STUDIES,
)
@option(
    "--out PATH",
    "of a sweep, a new file for the attempts, default: STUDY.jsonl; else the folder of the records, "
    "default: the committed ones",
    str,
)
@option("--methods A,B", "only these configurations or methods; default: the study's")
@option("--instances GLOB", "only those of such names", default="*")
@option("--limit N", "only the first N instances of a study", COUNT)
@option("--seconds S", "limit of every method; default: the study's", positive_seconds)
@option(
    "--grace S", "seconds beyond that for the instance and the verification", positive_seconds, default="60"
)
@option("--fresh", "solve everything in a process of its own")
@option("--smoke", "measure as small as possible, and write nothing")
@option("--seed N", "repeat this recording of studies that draw anew; default: drawn by the system", SEED)
@given.imports
@_workers
@given.as_json("what was done")
def run(options: Options) -> Answer:
    """Run studies: a sweep into a new file, measurements into a record each."""
    found = _studies(options.studies, sources(options))
    sweeps = [study.name for study in found if study.sweeps]
    measured = [study.name for study in found if not study.sweeps]
    if sweeps and measured:
        raise InvalidInputError(f"{sweeps[0]!r} sweeps, {measured[0]!r} measures; run them apart")
    for name in _OF_MEASUREMENTS if sweeps else _OF_SWEEPS:
        if getattr(options, name) not in (None, False):
            kind = "measure" if sweeps else "sweep"
            raise InvalidInputError(f"is an option of studies that {kind}; leave it out", f"--{name}")
    return _sweep(options, sweeps) if sweeps else _measure(options, found)


def _studies(names: Sequence[str], imports: tuple[str, ...]) -> list[Study]:
    from depl.benchmarks.measure.catalogue import all_studies, chosen, having, with_imports

    known = having(names, imports) if names else with_imports(all_studies(), imports)
    return chosen(names or [name for name, study in known.items() if not study.sweeps], known)


def _sweep(options: Options, names: list[str]) -> Answer:
    from depl.benchmarks.measure.attempt import Request
    from depl.benchmarks.measure.store import SUFFIX
    from depl.benchmarks.measure.tasks import jobs_of

    path = Path(options.out or f"{'+'.join(names)}{SUFFIX}")
    require_outputs([str(path)], options.imports)
    request = Request(
        suites=tuple(names),
        configurations=tuple(filter(None, (options.methods or "").split(","))),
        imports=sources(options),
        **options.pick("instances", "limit", "seconds", "grace", "fresh"),
    )
    jobs, workers = jobs_of(request), _asked_workers(options)
    with _empty(path, jobs) as store:
        return _swept(*_attempted(store, jobs, workers, "sweep"))


def _measure(options: Options, studies: Sequence[Study]) -> Answer:
    """Measure; each record is written as soon as it is there."""
    from depl.benchmarks.measure import results
    from depl.benchmarks.measure.attempt import Request
    from depl.benchmarks.measure.store import SUFFIX
    from depl.benchmarks.measure.tasks import jobs_of

    folder = results.RESULTS if options.out is None else Path(options.out)
    workers, path = _asked_workers(options), None
    done: list[Record] = []
    for study in studies:
        if options.smoke:
            done.append(results.measure(study, smoke=True, seed=options.seed))
            continue
        folder.mkdir(parents=True, exist_ok=True)
        path, draw = folder / f"{study.name}{SUFFIX}", results.seed_of(study, options.seed)
        jobs = jobs_of(Request(suites=(study.name,), imports=sources(options), draw=draw))
        with _empty(path, jobs) as store:
            content, attempts = _attempted(store, jobs, workers, study.name)
        if content["interrupted"]:
            break
        done.append(results.write_recorded(study, attempts, jobs, path))
    return _told(done, len(studies), path)


def _empty(path: Path, jobs: Sequence[Job]) -> Store:
    from depl.benchmarks.measure.store import Store

    store = Store(path, jobs[0].request)
    if store.attempts:
        store.__exit__()
        message = f"holds attempts already; 'depl bench resume {store.path}' goes on"
        raise InvalidInputError(message, str(store.path))
    return store


@bench.command("""\
depl bench run paper --limit 1 --methods fastest-cluster --out few.jsonl
depl bench resume few.jsonl                  # after a crash, Ctrl-C or a power cut
""")
@argument("FILE", "the file of attempts that 'depl bench run' began")
@_workers
@given.as_json("what was done")
def resume(options: Options) -> Answer:
    """Run what a file lacks of what it was made for."""
    from depl.benchmarks.measure.results import write_recorded
    from depl.benchmarks.measure.store import Store
    from depl.benchmarks.measure.tasks import jobs_of

    path = Path(options.file)
    if not path.exists():
        raise InvalidInputError("there is no such file; 'depl bench run STUDY --out' makes it", str(path))
    workers = _asked_workers(options)
    with Store(path) as store:
        if store.request is None:
            raise InvalidInputError("does not say what it was made for; use 'depl bench run'", str(path))
        jobs = jobs_of(store.request)
        content, attempts = _attempted(store, jobs, workers, path.stem)
        if store.request.draw is None:
            return _swept(content, attempts)
    if content["interrupted"]:
        return _told([], 1, path)
    (study,) = _studies(store.request.suites, store.request.imports)
    return _told([write_recorded(study, attempts, jobs, path)], 1, path)


@bench.command("""\
depl bench record --workers 2                # all studies at this commit; again, to go on
depl bench record ratios paper
""")
@argument("[STUDY]...", "only these; default: all", name="studies", shell_complete=_STUDIES)
@_workers
@given.as_json("what was recorded")
def record(options: Options) -> Answer:
    """Record studies anew, sweeps and measurements, in the place of the committed records and attempts."""
    from depl.benchmarks.measure.recording import left

    todo, workers, done = left(options.studies), _asked_workers(options), []
    for item in todo:
        with item.opened() as store:
            jobs = item.jobs(store)
            content, attempts = _attempted(store, jobs, workers, item.study.name)
        if content["interrupted"]:
            break
        item.finish(attempts, jobs)
        done.append(item.study.name)
    lacking = [item.study.name for item in todo[len(done) :]]
    aside = f"Stopped; the same command goes on with {', '.join(lacking)}" if lacking else ""
    code = ExitCode.STOPPED if lacking else ExitCode.ANSWERED
    nothing = "nothing" if lacking else "nothing, as all is recorded at this commit"
    told = f"recorded: {', '.join(done) or nothing}"
    return Answer(told, code, as_json({"recorded": done, "lacking": lacking}), aside)


def _asked_workers(options: Options) -> Workers:
    from depl.benchmarks.measure.sweep import workers_of

    if options.scheduler is not None and options.workers is not None:
        raise InvalidInputError("is not allowed with --workers; a scheduler has its own", "--scheduler")
    return workers_of(options.workers or 1, options.scheduler)


def _attempted(
    store: Store, jobs: Sequence[Job], workers: Workers, name: str
) -> tuple[dict[str, Any], list[Attempt]]:
    from depl.benchmarks.measure.sweep import sweep
    from depl.commands.progress import bar

    tasks = {job.task for job in jobs}
    with bar(name, len(tasks), len(store.held(tasks))) as step:
        return sweep(store, jobs, workers, lambda made: step(f"{made.task}: {made.ending}"))


def _swept(content: dict[str, Any], attempts: Sequence[Attempt]) -> Answer:
    endings = tuple(content["endings"])
    groups: dict[tuple[str, str], list[Attempt]] = {}
    for row in attempts:
        groups.setdefault((row.task.suite, row.task.configuration), []).append(row)
    rows = []
    for group, own in groups.items():
        counts, seconds = Counter(row.ending for row in own), sum(row.total_seconds for row in own)
        rows.append((*group, str(len(own)), *(str(counts[item] or "") for item in endings), f"{seconds:.1f}"))
    header = ("suite", "configuration", "attempts", *endings, "seconds")
    said = f"{content['finished']} of {counted(content['tasks'], 'attempt')} in {content['file']}"
    said += f", {content['made']} made now"
    if content["kept_of_other_commits"]:
        said += f"; of those kept, {content['kept_of_other_commits']} are of another commit than this one"
    if content["interrupted"]:
        said += f". Stopped; go on with: depl bench resume {content['file']}"
    code = ExitCode.STOPPED if content["interrupted"] else ExitCode.ANSWERED
    return Answer(table(header, rows, right=header[2:]), code, as_json(content), said)


def _told(done: Sequence[Record], studies: int, path: Path | None) -> Answer:
    """What was measured; and that it was interrupted, if not all was."""
    import msgspec

    interrupted = len(done) < studies
    content = {"records": msgspec.to_builtins(done), "interrupted": interrupted}
    code = ExitCode.STOPPED if interrupted else ExitCode.ANSWERED
    aside = f"Stopped; {len(done)} of {studies} studies measured" if interrupted else ""
    if aside and path is not None and path.exists():
        aside += f"; go on with: depl bench resume {path}"
    return Answer("\n".join(map(_measured, done)), code, as_json(content), aside)


def _measured(record: Record) -> str:
    from depl.benchmarks.measure.results import number

    lines = [f"{record.case}: {record.summary}"]
    for goal in record.goals:
        asked = f"goal {goal.comparison} {number(goal.threshold)}"
        met = "met" if goal.met else "NOT MET"
        lines.append(f"  {goal.name} = {number(goal.measured)}, {asked}: {met}")
    return "\n".join([*lines, f"  {record.wall_seconds:.2f} s, {record.cpu_seconds:.2f} s CPU"])


@bench.command("""\
depl bench compare paper --seconds 20
depl bench compare                           # all that is recorded, a minute of each
depl bench compare behaviour --all --only 'small-*/depl*'
""")
@argument(
    "[FILE]",
    "a file of attempts, or the name of a study of which some are recorded; default: all of these",
    shell_complete=_SUITES,
)
@argument("[NEW]", "another file, instead of asking again")
@option("--only GLOB", "these answers alone, as 'small-*/depl*'", default="*")
@option(
    "--seconds S",
    "ask about so much again of what was recorded of a study, drawn at random",
    positive_seconds,
    default="60",
)
@option("--all", "ask everything again")
@option("--seed N", "of the drawing; default: a fresh one, which is told", SEED)
@option("--update", "put answers that differ in the place of the recorded ones")
@option("--workers N", "ask so many at a time", COUNT, default=1)
@given.imports
@given.as_json("the comparison")
def compare(options: Options) -> Answer:
    """Ask recorded answers again, and print each that differs today, or in another file (exit code 3)."""
    from depl.benchmarks.measure.results import RESULTS
    from depl.benchmarks.measure.store import recorded

    seed = secrets.randbits(32) if options.seed is None else options.seed
    if options.update and not options.file:
        raise InvalidInputError("replaces answers of one FILE; name it", "--update")
    names = [options.file] if options.file else sorted(recorded())
    found = {name: _compared(options, name, seed) for name in names}
    told = [row for _, _, rows in found.values() for row in rows]
    if options.file:
        ((content, aside, _),) = found.values()
    else:
        lacking = sorted({path.stem for path in RESULTS.glob("*.json")} - recorded().keys())
        content = {"studies": {name: one for name, (one, *_) in found.items()}, "without_attempts": lacking}
        aside = "\n".join(f"{name}: {said}" for name, (_, said, _) in found.items())
        if lacking:
            aside += f"\nrecorded before attempts were kept, so not compared: {', '.join(lacking)}"
    rows = [(str(row.task), row.what, _shown(row.recorded), _shown(row.found)) for row in told]
    text = table(("answer", "what", "recorded", "found"), rows) if rows else "all the same"
    code = ExitCode.INFEASIBLE if told and not options.update else ExitCode.ANSWERED
    return Answer(text, code, as_json(content), aside)


def _compared(options: Options, name: str, seed: int) -> tuple[dict[str, Any], str, list[Difference]]:
    """Of one study or file: what ``--json`` tells, how much was compared, and what differs."""
    from depl.benchmarks.measure.compare import between, matches, repeatable
    from depl.benchmarks.measure.store import latest, read_attempts

    def wanted(source: str) -> list[Attempt]:
        return [row for row in latest(read_attempts(source)) if matches(row.task, options.only)]

    known = wanted(name)
    able = repeatable(known)
    if options.new is None:
        brief = [row for row in able if row.total_seconds <= options.seconds]  # no task of an hour
        count, told = _asked_again(options, name, able if options.file or options.all else brief, seed)
    else:
        count, told = len(able), between(able, repeatable(wanted(options.new)))
    content = {
        "recorded": len(known),
        "not_repeatable": len(known) - len(able),
        "compared": count,
        "seed": seed,
        "differences": [{**row._asdict(), "task": str(row.task)} for row in told],
    }
    aside = f"{count} of {counted(len(known), 'recorded answer')} compared"
    if count < len(able):
        aside += f", drawn with --seed {seed}"
    if len(able) < len(known):
        aside += f"; {len(known) - len(able)} ended by the clock or by accident and are left out"
    return content, aside, told


def _asked_again(options: Options, name: str, able: list[Attempt], seed: int) -> tuple[int, list[Difference]]:
    """Ask a part of what was recorded, or all of it; how much, and what differs."""
    from depl.benchmarks.measure.compare import asked_again, questions
    from depl.benchmarks.measure.store import update
    from depl.benchmarks.measure.sweep import workers_of
    from depl.commands.progress import bar

    seconds = None if options.all else options.seconds
    rows, new, request = questions(name, able, options.only, seconds, seed, sources(options))
    if not rows and not new and options.file:
        message = f"holds no answer like {options.only!r} that can be asked again: others ended by the clock"
        raise InvalidInputError(message, name)
    with bar(f"compare {name}", len(rows) + len(new)) as step:
        workers = workers_of(options.workers)
        told, other = asked_again(rows, request, workers, new, lambda found: step(str(found.task)))
    if options.update:
        update(name, other)
    return len(rows), told


@bench.command("""\
depl bench table
depl bench table --json
""")
@option("--out DIR", "folder of the records; default: the committed ones")
@given.as_json("the records")
def table_(options: Options) -> Answer:
    """Show the records of studies that measure as a table in Markdown; of attempts: depl bench report."""
    import msgspec

    from depl.benchmarks.measure import results

    records = results.read_all(results.RESULTS if options.out is None else Path(options.out))
    text = results.table(records).rstrip("\n")
    return Answer(text, json=as_json({"records": msgspec.to_builtins(records)}))


@bench.command("""\
depl bench draw graph figures
depl bench draw promises-kept figures
""")
@argument("NAME", "a study that has a figure", shell_complete=_STUDIES)
@argument("FOLDER", "where to write NAME.png and NAME.svg")
@argument("[RECORD]", "default: the committed one")
@given.as_json("the files")
def draw(options: Options) -> Answer:
    """Draw the figure of a study, from its record and from nothing else."""
    from depl.benchmarks.figures.style import save
    from depl.benchmarks.measure import results
    from depl.benchmarks.measure.catalogue import all_studies, chosen

    studies = all_studies()
    (study,) = chosen([options.name], studies)
    if study.draw is None:
        able = ", ".join(name for name, item in studies.items() if item.draw is not None)
        raise InvalidInputError(f"the study {study.name!r} has no figure; those that have one: {able}")
    record = results.read(Path(options.record) if options.record else results.RESULTS / f"{study.name}.json")
    figure = study.draw(record.values)
    written = [str(path) for path in save(figure, make_folder(options.folder), study.name)]
    return Answer("\n".join(written), json=as_json({"files": written}))


@bench.command("""\
depl bench report                            # all that is recorded
depl bench report paper-eta --no-figures --out page.html
""")
@argument(
    "[FILE]...",
    "files of attempts, or names of recorded studies; default: all that are recorded",
    name="files",
    shell_complete=_SUITES,
)
@option("--out PAGE.html", "the page", default="report.html")
@option("--no-figures", "leave the figures out, which take most of the time")
@option("--folder DIR", "also write every figure as PNG, SVG, PDF and CSV, and every table as CSV and LaTeX")
@option(
    "--claims/--no-claims",
    "judge the paper's claims by the attempts and by the recorded cases, or leave them out; default: "
    "only where no FILE is named",
    default=None,
)
@option(
    "--methods A,B",
    "methods that get a section of their own: cost over the best known, where they lose, worst "
    "instances; default: those of the FILEs that are not built in",
)
@given.as_json("the verdicts")
def report(options: Options) -> Answer:
    """Write a page that opens offline, with figures, ratios and verdicts on the paper's claims."""
    from depl.commands.bench_report import run as write_report

    return write_report(options)


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    return repr(value) if isinstance(value, float) else str(value)
