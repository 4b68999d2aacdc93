"""Runs in Python: `depl.read_logs`, `diagnose`, `fit` and `certify`, as the commands of these names."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from depl.instances.library import load
from depl.instances.setups import load_setup
from depl.instances.training.recorded import named_traces
from depl.models.estimation import diagnosis
from depl.models.estimation.certificate import Certificate, certificate, held_out
from depl.models.estimation.choices import CARE, RESAMPLES
from depl.models.estimation.instance import LawOfLoss, fit_instance, metric_of
from depl.models.estimation.setup import Setup
from depl.models.foundation.documents import require_known
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.affine_law import Scale
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.problem.traced_law import Residuals
from depl.models.tool_logs.importing import Choices, import_logs
from depl.models.traces.metrics import TARGETS
from depl.models.traces.table import Schedule, Traces

_SEVERAL = ("stages", "leave_out", "diverged", "cut_at_random")
"""Options of which there may be several."""


def read_logs(paths: str | Path | Iterable[str | Path], loss: str, **options: Any) -> Traces:
    """Read files or folders of logs, whose tool calls the held-out loss ``loss``.

    Parameters
    ----------
    **options
        Those of ``depl traces import``, as `Choices <depl.models.tool_logs.reading.Choices>` lists them, such
        as ``stages="p50@edge:17,p75@far-edge"``; ``tool="keras"`` is ``--from keras``.

    Raises
    ------
    InvalidInputError
        If the logs cannot be read so, with the option that would help.
    """
    for name in options:
        require_known(name, [field.name for field in fields(Choices)], f".{name}")
    several = {name: (options[name],) for name in _SEVERAL if isinstance(options.get(name), str)}
    each = [paths] if isinstance(paths, str | Path) else paths
    return import_logs([str(path) for path in each], Choices(loss, **options | several)).traces


def diagnose(
    runs: Traces | str,
    metric: str = "loss",
    *,
    resamples: int = RESAMPLES,
    rng: np.random.Generator | None = None,
) -> diagnosis.Diagnosis:
    """Say whether the paper's laws may be used for runs: traces, the name of their file, or of shipped ones.

    As `depl.models.estimation.diagnosis.diagnose`, which names the errors; without ``rng`` its seed is 0.
    """
    traces = named_traces(runs) if isinstance(runs, str) else runs
    return diagnosis.diagnose(traces, np.random.default_rng(0) if rng is None else rng, metric, resamples)


def fit(
    runs: Traces | str,
    setup: Setup | str | Mapping[str, Any],
    *,
    target: float | None = None,
    law: LawOfLoss = "affine",
    residuals: Residuals = "per_run",
    scale: Scale | None = None,
    care: float | None = CARE,
    confidence: float | None = None,
    diverged: int | None = None,
    metric: str = "loss",
    name: str | None = None,
) -> Instance:
    """Fit the laws of learning to training runs, and put them into clusters, costs and a target.

    Parameters
    ----------
    runs : Traces or str
        Or the path of a file, or the name of shipped ones.
    setup : Setup, str or mapping
        Or the path of a file, or the name of a shipped one, or its fields as such a file has them.
    target : float, optional
        l_max instead of that of the setup.
    law, residuals, scale, care, confidence, diverged, metric, name
        As in `depl.models.estimation.instance.fit_instance`.

    Returns
    -------
    Instance

    Raises
    ------
    InvalidInputError
        If runs or setup cannot be read or do not fit each other, or an option is impossible.

    Examples
    --------
    >>> fitted = fit("digits-alexnet", "digits-alexnet", target=0.6)
    >>> fitted.target.maximum_loss, fitted.has_memory
    (0.6, True)
    """
    if isinstance(setup, Mapping):
        setup = Setup.from_json(json.dumps({"format": "depl-setup", "version": 1, **setup}))
    chosen = load_setup(setup) if isinstance(setup, str) else setup
    if target is not None:
        chosen = chosen.replace_target(target)
    traces = named_traces(runs) if isinstance(runs, str) else runs
    return fit_instance(
        traces,
        chosen,
        law=law,
        residuals=residuals,
        scale=scale,
        care=care,
        confidence=confidence,
        diverged=diverged,
        metric=metric,
        name=name,
    )


ChosenBy = Traces | Instance | str
"""What had a part in the choice of a plan; a path that ends with ``.json`` is that of an instance."""


def certify(
    runs: Traces | str,
    target: float | None = None,
    level: float | None = None,
    confidence: float = 0.95,
    *,
    chosen_by: ChosenBy | Iterable[ChosenBy],
    plan: Plan | Schedule | None = None,
    metric: str | None = None,
    diverged: Iterable[str] = (),
) -> Certificate:
    """Say whether held-out runs prove that a plan keeps its promise, whatever law the loss has.

    Parameters
    ----------
    runs : Traces or str
        Runs of the plan that nobody saw when it was chosen; or the path of a file.
    target, level : float, optional
        l_max and omega: what is promised [loss]; by default as the instance says that chose the plan, and
        whose metric is taken, too.
    confidence : float
        Of the certificate.
    chosen_by : Traces, Instance, str, or iterable of these
        What was used to choose the plan; none of its runs may be in ``runs``. ``()`` for nothing.
    plan, metric, diverged
        As in `depl.models.estimation.certificate.held_out`.

    Returns
    -------
    Certificate

    Raises
    ------
    InvalidInputError
        If a run is not allowed to judge the plan, a file cannot be read, or a number is impossible.

    Examples
    --------
    >>> import numpy as np
    >>> from depl.models.traces.table import Traces
    >>> rng, epochs = np.random.default_rng(0), 9
    >>> seeds = np.repeat([f"seed-{number}" for number in range(80)], epochs)
    >>> losses = np.tile(np.arange(epochs, 0.0, -1.0), 80) + rng.normal(0.0, 0.2, 80 * epochs)
    >>> column = np.tile(np.arange(epochs), 80)
    >>> runs = Traces(seeds, column, np.full(720, "full"), np.full(720, "edge"), losses)
    >>> schedule = (("full", "edge"),) * (epochs - 1)
    >>> certify(runs, 2.0, 0.95, chosen_by=(), plan=schedule).verdict.value
    'certified'
    """
    judges = named_traces(runs) if isinstance(runs, str) else runs
    known = (chosen_by,) if isinstance(chosen_by, Traces | Instance | str) else tuple(chosen_by)
    named = [named_choice(item) if isinstance(item, str) else item for item in known]
    told = {f"instance {item.name!r}": item for item in named if isinstance(item, Instance)}
    asked, _ = promised(told, plan, {"target": target, "omega": level, "metric": metric})
    found = held_out(judges, named, plan, asked["metric"], diverged)
    return certificate(found, asked["target"], asked["omega"], confidence)


def promised(
    instances: Mapping[str, Instance], plan: Plan | Schedule | None, given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Target, omega and metric as given, or else as the instances say that chose the plan; and which said it.

    Raises
    ------
    InvalidInputError
        If nothing says it, instances contradict each other, or the plan was made for another one.
    """
    made_for = plan.instance if isinstance(plan, Plan) else None
    own = {name: item for name, item in instances.items() if made_for in (None, item.fingerprint)}
    found, said = dict(given), dict[str, str]()
    for name in [name for name, value in given.items() if value is None]:
        if instances and not own and name != "metric":
            message = "the plan was made for another instance, or at another target, than those that chose it"
            raise InvalidInputError(f"{message}; name that one, or give target and omega", f".{name}")
        values = {_TOLD[name](item): source for source, item in (own or instances).items()}
        if name == "metric" and not values:
            found[name] = TARGETS[0]
            continue
        if len(values) != 1:
            told = f"is {' and '.join(map(str, values))} in" if values else "is told by none of"
            raise InvalidInputError(f"{told} the instances that chose the plan; give it", f".{name}")
        ((found[name], said[name]),) = values.items()
    return found, said


_TOLD: Mapping[str, Callable[[Instance], Any]] = {
    "target": lambda instance: instance.target.maximum_loss,
    "omega": lambda instance: instance.target.quantile_level,
    "metric": metric_of,
}
"""What an instance says of a promise that was made with it."""


def named_choice(name: str) -> Traces | Instance:
    """The instance of a ``.json`` file, or else the traces of that name."""
    return load(name) if name.endswith(".json") else named_traces(name)
