"""Whether a traced law, and the run under way that it goes on from, fits the instance that has it."""

from typing import TYPE_CHECKING

from depl.models.foundation.documents import require_known
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.traced_law import FittedJump, FittedStep, ObservedRun, TracedLaw

if TYPE_CHECKING:
    from depl.models.problem.instance import Instance


def check_traced_law(instance: "Instance", law: TracedLaw) -> None:
    """Refuse what traces cannot know: they know models and clusters, not other data or another start.

    Raises
    ------
    InvalidInputError
        With the place of the first thing wrong.
    """
    models = {item.name for item in instance.models}
    clusters = {item.name for item in instance.clusters}
    rows: list[tuple[str, FittedStep | FittedJump]]
    rows = [(f".traced_law.steps[{index}]", row) for index, row in enumerate(law.steps)]
    rows += [(f".traced_law.jumps[{index}]", row) for index, row in enumerate(law.jumps)]
    for path, row in rows:
        require_known(row.model, models, f"{path}.model")
        require_known(row.cluster, clusters, f"{path}.cluster")
        if row.previous_model is not None and row.previous_cluster is not None:
            require_known(row.previous_model, models, f"{path}.previous_model")
            require_known(row.previous_cluster, clusters, f"{path}.previous_cluster")
    for path, given in (
        (".data_law", instance.data_law is not None),
        (".target.initial_model", law.observed is None and instance.target.initial_model is not None),
        (".datasets", len(instance.datasets) > 1),
    ):
        if given:
            raise InvalidInputError(
                "a traced law holds for the data and the start of its runs; give one dataset, no data "
                "law and no initial model",
                path,
            )
    if law.observed is not None:
        _check_observed_run(instance, law.observed)


def _check_observed_run(instance: "Instance", run: ObservedRun) -> None:
    """Epoch 1 is the one after those of a run under way: model and loss are where that stands."""
    models = {item.name for item in instance.models}
    clusters = {item.name for item in instance.clusters}
    for index, stage in enumerate(run.stages):
        path = f".traced_law.observed.stages[{index}]"
        require_known(stage.model, models, f"{path}.model")
        require_known(stage.cluster, clusters, f"{path}.cluster")
    last = run.stages[-1].model if run.stages else None
    for path, given, wanted in (
        (".target.initial_model", instance.target.initial_model, last),
        (".target.initial_loss", instance.target.initial_loss, run.loss),
    ):
        if given != wanted:
            message = f"is {given!r}, but the run under way (traced_law.observed) stands at {wanted!r}"
            raise InvalidInputError(f"{message}; make the two equal", path)
