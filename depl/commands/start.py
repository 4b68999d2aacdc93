"""``depl start``: one guided way from a folder of logs to a plan; an option answers each question.

Questions and their order stand here; logs are read, laws fitted and plans found as by other commands.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import depl
from depl.commands import options as given
from depl.commands.answer import Answer, code_of
from depl.commands.options import Options, option
from depl.commands.printable import as_json, fields, printable
from depl.commands.runs import choices_of, fresh_words, log_words, lost_runs, of_logs
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.solving.defaults import DEFAULT_METHOD

if TYPE_CHECKING:
    from depl.models.estimation.setup import Setup
    from depl.models.tool_logs.importing import Imported
    from depl.models.tool_logs.points import LoggedRun
    from depl.models.traces.table import Traces

FILES = ("setup.json", "runs.csv", "instance.json", "plan.json", "plan.png")
"""What is written into the folder."""

_POSITIVE, _SHARE = click.FloatRange(0, min_open=True), click.FloatRange(0, 1, min_open=True, max_open=True)
_POSITIVE.name = _SHARE.name = "number"
_EACH = {
    "price": ("CLUSTER", "what one resource costs per epoch, such as EUR per GPU"),
    "capacity": ("CLUSTER", "the most resources that an epoch can have, such as GPUs"),
    "work": ("MODEL", "resources x time that an epoch takes, such as GPU hours"),
}
_TARGET = {
    "maximum_time": ("--maximum-time T", "time for the whole training, in the unit of the work", _POSITIVE),
    "quantile_level": ("--omega P", "the probability that is to be promised", _SHARE),
    "maximum_loss": ("--target L", "l_max, the loss that is to be reached", given.NUMBER),
}
_MODEL, _CLUSTER = "--model KEY, or --stages MODEL@CLUSTER", "--cluster KEY, or --cluster-name NAME"
_OTHERWISE = "Enter if this is what was trained; if not, Ctrl-C, and an option that reads it otherwise"
_HELD_OUT = re.compile("val|eval|test|held|central", re.IGNORECASE)


def _of_name(text: str) -> tuple[str, float]:
    name, number = given.key_and_value(text)
    return name, _sensible(_POSITIVE, number)


@given.command("""\
depl start lightning_logs                    # asks on a terminal; elsewhere it lists what is missing
depl start logs --loss val_loss --template plan/setup.json --target 0.4 --out other
""")
@given.argument("PATH...", "files of logs, or folders that hold them", name="paths")
@option("--out DIR", f"the folder for {', '.join(FILES)}", default="plan")
@option("--force", "replace files of these names")
@option("--template SETUP", "a setup, such as one written before, of which nothing is asked")
@given.together(
    *(option(f"--{key} {of}=N", what, _of_name, multiple=True) for key, (of, what) in _EACH.items()),
    *(option(way, what, kind, name=key) for key, (way, what, kind) in _TARGET.items()),
)
@option("--time-limit S", "seconds of solving", given.positive_seconds, default="60")
@given.as_json("what was found")
@of_logs(also="")
@lost_runs
def start(options: Options) -> Answer:
    """Lead from a folder of logs to a plan: ask for what logs do not say."""
    from depl.commands.progress import following

    out = Path(options.out)
    given.refuse_existing(options.out, FILES, options.force)
    given.require_outputs([str(out / name) for name in FILES] if out.is_dir() else [options.out])
    if any(Path(path).resolve() in (out.resolve(), *out.resolve().parents) for path in options.paths):
        raise InvalidInputError("lies among the logs, and would be read as one next time", "--out")
    asked = _Asked()
    read = _read(asked, options)
    setup, found = _setup(asked, options, read)
    try:
        with given.inside(" ".join(options.paths), ("law",), options.template or "the setup"):
            instance = depl.fit(found.traces, setup)
    except InvalidInputError as error:
        if not asked.terminal:
            raise
        kept = given.written(str(given.make_folder(options.out) / FILES[0]), "setup", setup)
        raise InvalidInputError(f"{error}; {kept}, for --template when there are other runs") from error
    with following(DEFAULT_METHOD, instance.units) as told:
        result = depl.solve(instance, time_limit=options.time_limit, **told)
    failed = _write(options.out, setup, found.traces, instance, result.plan)
    return _answer(options, found, instance, result, asked.terminal)._replace(aside=failed)


class _Asked:
    """Questions on a terminal; without one, or after the end of its input, what is missing is kept."""

    def __init__(self) -> None:
        streams = sys.stdin, sys.stderr
        self.terminal = all(one is not None and not one.closed and one.isatty() for one in streams)
        self.missing: dict[str, str] = {}
        self.refused: InvalidInputError | None = None

    def one(self, way: str, what: str, read: Callable[[str], Any], like: str | None = None) -> Any:
        """The answer to a question, asked again until it makes sense; ``way`` is the option for it."""
        if self.terminal:
            reading, told = partial(_sensible, read), printable(what)
            try:
                return click.prompt(told, like, value_proc=reading, show_default=bool(like), err=True)
            except click.Abort as error:
                click.echo(err=True)
                if isinstance(error.__context__, KeyboardInterrupt):
                    raise KeyboardInterrupt from None
                self.terminal = False
        self.missing[way] = what if like is None else f"{what} [{like}]"
        return None

    def require(self, read: Imported | None) -> Imported:
        """What was read, unless something is missing: all of it is told at once."""
        from depl.models.foundation.wording import aligned

        if self.missing:
            lines = ["nothing can be asked here, and these are missing, each with the option that gives it:"]
            lines += aligned(list(self.missing.items()))
            lines += [f"and the logs cannot be read: {self.refused}"] if self.refused else []
            raise InvalidInputError("\n".join(lines))
        if read is None:
            raise self.refused or InvalidInputError("nothing was read")
        return read


def _sensible(read: Callable[[str], Any], text: str) -> Any:
    """What is read of an answer; what is refused, by whomever, makes no sense."""
    try:
        value = read(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    if isinstance(value, float) and value and not 1e-100 <= abs(value) <= 1e100:
        raise click.BadParameter(f"{text} is nothing to calculate with")
    return value


def _confirmed(text: str) -> str:
    if text.strip():
        raise ValueError(
            "only Enter goes on: Ctrl-C ends, and an option given to depl start reads it otherwise"
        )
    return text


def _read(asked: _Asked, options: Options) -> Imported | None:
    """The logs; on a terminal what was read of them is shown."""
    from depl.models.tool_logs.finding import read_logs
    from depl.models.tool_logs.importing import import_logs
    from depl.showing import view

    told = vars(options)
    runs = read_logs(options.paths, options.tool, options.loss or "", options.leave_out).runs
    if options.loss is None:
        told["loss"] = _loss(asked, runs)
    placed = any(told[key] for key in ("stages", "model", "cluster", "cluster_name"))
    if not placed and not all("stages" in run.settings for run in runs):
        told |= _places(asked, runs)
    if {_MODEL, _CLUSTER} & asked.missing.keys():
        return None
    try:
        read = import_logs(options.paths, choices_of(options))
    except InvalidInputError as error:
        if asked.terminal:
            raise
        asked.refused = error
        return None
    if asked.terminal:
        asked.one("", f"\n{view(read).text()}\n\n{_OTHERWISE}", _confirmed, "")
        asked.missing.pop("", None)
    return read


def _loss(asked: _Asked, runs: Sequence[LoggedRun]) -> str:
    """The key of the held-out loss; a likely one, for what else is missing, where it is not told."""
    from depl.models.tool_logs.epochs import EPOCH_KEYS, STEP_KEYS

    logged = [item for run in runs for point in run.points for item in point.values.items()]
    numbers = dict.fromkeys(key for key, value in logged if isinstance(value, float))
    known = [key for key in numbers if key not in (*EPOCH_KEYS, *STEP_KEYS)]
    losses = [key for key in known if "loss" in key.lower()]
    likely = next(iter([*filter(_HELD_OUT.search, losses), *losses]), None)

    def read(text: str) -> str:
        if not any(run.keys_of(text) for run in runs):
            raise click.BadParameter(f"nothing is logged under {text!r}; {advice(text, known)}")
        return text

    what = f"the loss on held-out data; logged are {', '.join(known[:12])}{', ...' * bool(known[12:])}"
    return asked.one("--loss KEY", what, read, likely) or likely or ""


def _places(asked: _Asked, runs: Sequence[LoggedRun]) -> dict[str, Any]:
    """What tells which model was trained where, if logs do not say it under the usual keys."""
    from depl.models.traces.stages import stages_by_pattern

    logged = [item for run in runs for point in run.points for item in point.values.items()]
    texts = dict.fromkeys(key for key, value in logged if isinstance(value, str))
    keys, found = [key for key in (*runs[0].settings, *texts) if key != "run"], dict[str, Any]()

    def read(text: str) -> str:
        if "@" in text:
            stages_by_pattern([text])
        elif text not in keys:
            raise click.BadParameter(f"no key is called {text!r}; {advice(text, keys)}")
        return text

    told = f"the key that tells it ({', '.join(keys)}), or " if keys else ""
    if "model" not in keys:
        answer = asked.one(_MODEL, f"the model: {told}what every run trained, as net@edge:4,half@edge", read)
        found = {"stages": (answer,)} if "@" in (answer or "") else {"model": answer}
    if "cluster" not in keys and "stages" not in found:
        answer = asked.one(_CLUSTER, f"the cluster: {told}the name of the only one", str)
        found["cluster" if answer in keys else "cluster_name"] = answer
    return found


def _setup(asked: _Asked, options: Options, read: Imported | None) -> tuple[Setup, Imported]:
    """The setup, of what is told or asked, and what was read; refused if anything is missing."""
    import msgspec

    from depl.instances.setups import load_setup, names_of, setup_of

    names = dict(zip(("MODEL", "CLUSTER"), ([], []) if read is None else names_of(read.traces), strict=True))
    told, target = dict[str, dict[str, float]](), options.pick(*_TARGET)
    for key, (of, what) in _EACH.items():
        told[key] = dict(getattr(options, key))
        for name in told[key].keys() - {*names[of]} if read else ():
            raise InvalidInputError(f"there is no {name!r}; {advice(name, names[of])}", f"--{key}")
        for name in (names[of] or [of]) * (options.template is None):
            if name not in told[key]:
                told[key][name] = asked.one(f"--{key} {shlex.quote(name)}=N", f"{name}: {what}", _POSITIVE)
    if options.template is None:
        _ask_target(asked, target, None if read is None else read.traces)
    found = asked.require(read)
    setup = setup_of(found.traces, None, told, "told to depl start")
    with given.inside(options.template or ""):
        setup = setup if options.template is None else load_setup(options.template)
        changed = {key: value for key, value in target.items() if value is not None}
        return msgspec.structs.replace(setup, target=msgspec.structs.replace(setup.target, **changed)), found


def _ask_target(asked: _Asked, target: dict[str, Any], traces: Traces | None) -> None:
    """Ask for what is to be reached, with what the runs reach beside it."""
    from depl.models.estimation.advice import reachable
    from depl.models.foundation.wording import rounded_up

    reach = None if traces is None or None not in target.values() else reachable(traces)
    for key, (way, what, kind) in _TARGET.items():
        like = f"{reach.level:g}" if reach and key == "quantile_level" else None
        level = target["quantile_level"] or (reach and reach.level)
        if key == "maximum_loss" and target[key] is None and traces is not None and level is not None:
            reach = reachable(traces, level)
            like = reach and rounded_up(reach.loss, 3)
            what += f"; no schedule has the runs that {level:g} takes"
            if reach is not None:
                what = f"l_max, the loss to be reached; all schedules of {reach.runs} runs or more "
                what += f"promise {like}"
        if target[key] is None:
            target[key] = asked.one(way, what, kind, like)


def _write(out: str, setup: Setup, traces: Traces, instance: depl.Instance, plan: depl.Plan | None) -> str:
    from depl.models.traces.files import write_traces

    paths = [str(given.make_folder(out) / name) for name in FILES]
    for path in paths[3:]:  # of another instance
        Path(path).unlink(missing_ok=True)
    write_traces(paths[1], traces)
    for path, document in zip((paths[0], *paths[2:4]), (setup, instance, plan), strict=True):
        given.written(path, "document", document)
    try:
        given.plan_drawn(given.figure_files(paths[4]), instance, plan)
    except InvalidInputError as error:
        return f"depl: the picture is missing: {error}"
    return ""


def _answer(
    options: Options, read: Imported, instance: depl.Instance, result: depl.Result, shown: bool
) -> Answer:
    """What was read, unless it was shown before, and decided; the plan, and what comes next."""
    from depl.commands.plans import advice_on
    from depl.models.evaluation.traced_law import runs_to_carry
    from depl.showing import facts, view

    out, level = shlex.quote(options.out), instance.target.quantile_level
    there = [path for name in FILES if Path(path := f"{options.out}/{name}").exists()]
    words, pairs = [*options.paths, *log_words(choices_of(options))], [("files", ", ".join(there))]
    again = f"depl start {shlex.join(words)} --out {out} --template {out}/setup.json --force"
    if result.plan is not None:
        stands, plan, needed = f"{out}/instance.json", f"{out}/plan.json", runs_to_carry(level, 0.95)
        judging = f"{shlex.join(fresh_words(options))} --plan {plan} --chosen-by {stands}"
        lines = [f"depl check {stands} {plan}", f"depl report {stands} {plan} --out {out}/report.html"]
        room = f"{needed} runs or more; a --target looser than the plan's leaves room for misses"
        lines += [f"depl certify FRESH-LOGS {judging}   # {room}"]
        pairs += [("again", f"{again}   # asks nothing")]
    else:
        helping = list(_helping(read.traces, level, instance.target.maximum_loss))
        pairs += [("what helps", line) for line in helping]
        lines = [f"{again} {line.partition(',')[0]}" for line in helping if line[0] == "-"] or [again]
    parts = ["" if shown else view(read).text(), _DECIDED.format(options.time_limit), view(result).text()]
    advice = advice_on(instance)
    parts += ["" if advice is None else str(advice)]
    parts += [fields(pairs), "What comes next:\n" + "\n".join(f"  {line}" for line in lines)]
    seen, made = ({name: fact.value for name, fact in facts(it).items()} for it in (read, result))
    code = code_of(result.termination.value, result.plan is not None, result.claimed)
    return Answer("\n\n".join(filter(None, parts)), code, as_json(made | {"files": there, "read": seen}))


_DECIDED = """\
Decided here (the setup says otherwise, and depl start takes it as --template):
  the data are on all clusters for nothing, each of one node; sending a model takes no time
  a plan has at most as many epochs as the longest run; it is looked for within {:g} s (--time-limit)
  the law has memory (affine), and whole runs are counted; depl fit says more, and what it refuses"""


def _helping(traces: Traces, level: float, loss: float) -> Iterator[str]:
    """What would allow a promise, beside the runs that are advised."""
    from depl.models.estimation.advice import reachable
    from depl.models.estimation.choices import PROMISED
    from depl.models.foundation.wording import rounded_up

    reach = reachable(traces, level)
    if reach is not None and reach.best <= loss:
        yield "more time (--maximum-time) or capacity: the runs reach the target"
        return
    yield "more runs of one schedule"
    if reach is not None:
        told = f"which all schedules of {reach.runs} runs or more promise"
        yield f"--target {rounded_up(reach.loss, 3)}, {told}"
    for one in (reachable(traces, lower) for lower in PROMISED[::-1] if lower < level):
        if one is not None and one.best <= loss:
            yield f"--omega {one.level:g}, at which the runs of a plan promise the target"
            break
