"""`depl.read_logs` and `depl.diagnose`: runs in Python, as ``depl traces import`` and ``depl diagnose``."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from depl.instances.training.recorded import named_traces
from depl.models.estimation import diagnosis
from depl.models.estimation.choices import RESAMPLES
from depl.models.foundation.documents import require_known
from depl.models.foundation.users_code import exits_are_errors
from depl.models.tool_logs.importing import Choices, import_logs
from depl.models.traces.table import Traces

_SEVERAL = ("stages", "leave_out", "diverged", "cut_at_random")
"""Options of which there may be several."""


@exits_are_errors
def read_logs(paths: str | Path | Iterable[str | Path], loss: str, **options: Any) -> Traces:
    """Read what a training tool has logged: Lightning, Keras, TensorBoard, W&B, mlflow, Flower, JSON or CSV.

    Parameters
    ----------
    paths : str, Path, or iterable of these
        Files of logs, or folders that hold them.
    loss : str
        What the tool calls the held-out loss.
    **options
        Those of ``depl traces import``, as `Choices <depl.models.tool_logs.importing.Choices>` lists them:
        ``stages="p50@edge:17,p75@far-edge"``; ``tool="keras"`` is ``--from``.

    Raises
    ------
    InvalidInputError
        If the logs cannot be read so, with the option that would help.
    """
    known = [field.name for field in fields(Choices)]
    for name in options:
        require_known(name, known, f".{name}")
    several = {name: (options[name],) for name in _SEVERAL if isinstance(options.get(name), str)}
    each = [paths] if isinstance(paths, str | Path) else paths
    return import_logs([str(path) for path in each], Choices(loss, **options | several)).traces


@exits_are_errors
def diagnose(
    runs: Traces | str,
    metric: str = "loss",
    *,
    resamples: int = RESAMPLES,
    rng: np.random.Generator | None = None,
) -> diagnosis.Diagnosis:
    """Fit the paper's laws to training runs and say whether they may be used, and what the runs can carry.

    Parameters
    ----------
    runs : Traces or str
        Or the path of a file, or the name of shipped ones.
    metric, resamples
        As in `depl.models.estimation.diagnosis.diagnose`.
    rng : numpy.random.Generator, optional
        Of all resamples; by default a new one of seed 0, as ``depl diagnose`` makes.

    Raises
    ------
    InvalidInputError
        If the runs cannot be read, or are too few to tell.
    """
    traces = named_traces(runs) if isinstance(runs, str) else runs
    return diagnosis.diagnose(traces, np.random.default_rng(0) if rng is None else rng, metric, resamples)
