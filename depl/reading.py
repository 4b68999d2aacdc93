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


@exits_are_errors
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
