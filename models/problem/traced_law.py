"""The affine law as part of an instance file: its coefficients, and the runs that lend the residuals.

Everything else follows from these (`depl.models.problem.affine_law`): residuals are what the coefficients
leave of the losses of the runs, and the support is where the runs have been.
"""

import math
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np
from msgspec import Meta

from depl.models.foundation.documents import Checked, Name, require_known, require_unique
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.wording import counted
from depl.models.problem.affine_law import (
    AffineLaw,
    AffineStep,
    Epochs,
    Known,
    Position,
    RowKey,
    Scale,
    Trained,
    assembled,
    ends_of,
    positions,
)
from depl.models.problem.counting import LARGEST_RETENTION, LEAST_TOGETHER, MOST_DIVERGED
from depl.models.problem.laws import FloatArray
from depl.models.traces.table import Schedule

if TYPE_CHECKING:
    from depl.models.problem.instance import Instance, Target

Residuals = Literal["per_run", "independent"]

MOST_WHOLE_RUNS = 1_000_000
"""Most runs that a law may ask for before those of a plan stand alone: more than anybody records."""

Retention = Annotated[float, Meta(ge=0, le=LARGEST_RETENTION, description="what stays of l(k-1)")]
Age = Annotated[int, Meta(ge=1, le=1_000_000)]


class Stage(Checked, frozen=True, kw_only=True):
    """Consecutive epochs of one model on one cluster."""

    model: Name
    cluster: Name
    epochs: Age

    @property
    def trained(self) -> Trained:
        """Model and cluster."""
        return self.model, self.cluster


def require_joined(stages: tuple[Stage, ...]) -> None:
    """Require that every stage trains something else than the one before it, or trains elsewhere.

    Raises
    ------
    InvalidInputError
        With the first that does not.
    """
    for index in range(1, len(stages)):
        if stages[index].trained == stages[index - 1].trained:
            raise InvalidInputError("goes on with the stage before; join the two", f".stages[{index}]")


class ObservedRun(Checked, frozen=True, kw_only=True):
    """A run under way: what it trained so far, and its loss after that.

    Raises
    ------
    InvalidInputError
        If two consecutive stages are one.
    """

    stages: Annotated[tuple[Stage, ...], Meta(description="none before the first epoch")] = ()
    loss: Annotated[float, Meta(description="after them [loss]")]

    def validate(self) -> None:
        """Require stages that differ from those before them."""
        require_joined(self.stages)

    @property
    def schedule(self) -> Schedule:
        """Model and cluster of the epochs trained."""
        return tuple(stage.trained for stage in self.stages for _ in range(stage.epochs))


class RecordedRun(Checked, frozen=True, kw_only=True):
    """One run of the traces."""

    stages: Annotated[tuple[Stage, ...], Meta(min_length=1)]
    losses: Annotated[tuple[float, ...], Meta(min_length=1, description="l(first_epoch), ..., l(K) [loss]")]
    first_epoch: Annotated[
        Literal[0, 1], Meta(description="of the losses; 1 where the run was not evaluated before training")
    ] = 0
    origin: (
        Annotated[int, Meta(ge=0, description="same number: first epochs shared, count as one")] | None
    ) = None

    def validate(self) -> None:
        """Require one loss per epoch and, unless it was not observed, one before them."""
        epochs = sum(stage.epochs for stage in self.stages)
        if len(self.losses) != epochs + 1 - self.first_epoch:
            wanted = "one loss per epoch" if self.first_epoch else "l(0) and one loss per epoch"
            message = f"has {counted(len(self.losses), 'entry', 'entries')} for "
            message += f"{counted(epochs, 'epoch')}; give {wanted}"
            if len(self.losses) == epochs:
                message += ', or "first_epoch": 1 where l(0) was not observed'
            raise InvalidInputError(message, ".losses")
        require_joined(self.stages)

    @property
    def evaluated(self) -> bool:
        """Whether l(0) was observed."""
        return self.first_epoch == 0

    @cached_property
    def observed(self) -> FloatArray:
        """l(0), ..., l(K), NaN for l(0) where it was not observed [loss]."""
        return np.array(self.losses if self.evaluated else (math.nan, *self.losses))

    @cached_property
    def positions(self) -> tuple[Position, ...]:
        """Where its epochs stand."""
        return _positions_of(self.stages)


class FittedStep(Checked, frozen=True, kw_only=True):
    """l(k) = intercept + start_slope * ln s + retention * l(k-1) + e, age epochs since the model took over.

    Without a predecessor it holds after all that have no steps of their own.
    """

    model: Name
    cluster: Name
    age: Age
    intercept: Annotated[float, Meta(description="a [loss]")]
    retention: Retention
    start_slope: Annotated[float, Meta(description="b [loss], times ln s, s epochs before")] = 0.0
    first: Annotated[bool, Meta(description="of a first stage, which nothing came before")] = False
    previous_model: Annotated[Name, Meta(description="after this model alone")] | None = None
    previous_cluster: Annotated[Name, Meta(description="and its cluster")] | None = None
    ages: Annotated[tuple[Age, Age], Meta(description="pooled for it; its own alone unless given")] | None = (
        None
    )

    pooled: ClassVar[bool] = False

    def validate(self) -> None:
        """Age 1 is that of a jump unless the stage is the first, without predecessor; the pool is a range."""
        if (self.previous_model is None) != (self.previous_cluster is None):
            raise InvalidInputError("name the model before and its cluster, or neither", ".previous_model")
        if self.first and self.previous_model is not None:
            raise InvalidInputError("nothing comes before a first stage", ".previous_model")
        if self.age == 1 and not self.first:
            raise InvalidInputError("the first epoch of a later stage is a jump; list it there", ".age")
        if self.ages is not None and self.ages[0] > self.ages[1]:
            raise InvalidInputError("give the least age and then the greatest", ".ages")
        least, greatest = self.ages or (self.age, self.age)
        if not (1 if self.first else 2) <= least <= self.age <= greatest:
            raise InvalidInputError(
                "the pool holds the age of the step, and of a later stage no age below 2", ".ages"
            )


class FittedJump(Checked, frozen=True, kw_only=True):
    """The same for the first epoch of a model after another, or on another cluster."""

    previous_model: Name
    previous_cluster: Name
    model: Name
    cluster: Name
    intercept: Annotated[float, Meta(description="a [loss]")]
    retention: Retention
    start_slope: Annotated[float, Meta(description="b [loss], times ln s, s epochs before")] = 0.0
    pooled: Annotated[bool, Meta(description="with the jumps from all other predecessors")] = False

    first: ClassVar[bool] = False
    age: ClassVar[int] = 1
    ages: ClassVar[None] = None

    def validate(self) -> None:
        """Refuse a jump to where it comes from."""
        if (self.previous_model, self.previous_cluster) == (self.model, self.cluster):
            raise InvalidInputError("a model on its own cluster makes no jump; remove the row", "")


def _row(row: FittedStep | FittedJump) -> tuple[RowKey, AffineStep]:
    """Where a row of the document stands in the law, and what the law takes of it."""
    before, ages = row.previous_model, row.ages or (row.age, row.age)
    previous = None if before is None or row.previous_cluster is None else (before, row.previous_cluster)
    found = AffineStep(row.intercept, row.start_slope, row.retention, ages, row.pooled)
    return ((row.model, row.cluster), row.first, row.age, previous), found


class TracedLaw(Checked, frozen=True, kw_only=True, tag_field="type", tag="affine"):
    """The affine law of the loss, fitted to traces; replaces improvements and switches.

    Attributes
    ----------
    runs : tuple of RecordedRun
        What was fitted to.
    steps : tuple of FittedStep
    jumps : tuple of FittedJump
    scale : "loss" or "log"
        Whether the law is one of the loss or of its logarithm; losses of runs are losses either way.
    residuals : "per_run" or "independent"
        Whether a run lends its residuals of a whole stage (of the whole plan, where enough runs went through
        it), or every epoch draws one of its own.
    unseen_loss : float or None
        Whether one more run, unlike all that were seen, counts where whole runs are lent: it misses every
        target. The number, the greatest loss recorded, says no more than that; None counts no such run.
    deviations : tuple of float
        By how much plans that were never run ended off the law, all equally likely, on its scale; added to
        the final loss of plans that too few runs went through.
    care : float or None
        Which share of the plans held out the deviations are to cover. Where they are asked for and there are
        none, too few plans were run to tell, and plans that too few runs went through are refused.
    confidence : float or None
        How sure a promise must be; None for promises that are right on average over all sets of runs. Both
        hold for a plan that the runs did not choose. With a confidence only plans that enough runs went
        through are promised.
    whole_runs : int
        Fewest runs through a plan that make up its law alone.
    settled_epochs : int
        Above a loss count as many of them as were above it after any of the last so many epochs, as a search
        favours chance dips; after the epoch with which all of them end, that epoch counts alone.
    diverged : int
        Runs that diverged and are not among ``runs``; each counts as one more run unlike all seen, with every
        plan and in every stage.
    cut_at_random : int
        Runs among ``runs`` that ended before others of their schedule, for reasons unlike their losses as
        somebody has said: nothing is counted for what they were to train.
    observed : ObservedRun or None
        A run under way that the law goes on from; then epoch 1 of the instance is the next one of that run,
        and every probability is one given its last loss.
    """

    runs: Annotated[tuple[RecordedRun, ...], Meta(min_length=1)]
    steps: Annotated[tuple[FittedStep, ...], Meta(min_length=1)]
    jumps: tuple[FittedJump, ...] = ()
    scale: Scale = "loss"
    residuals: Residuals = "per_run"
    unseen_loss: float | None = None
    deviations: tuple[float, ...] = ()
    care: Annotated[float, Meta(gt=0, lt=1, description="share of plans that deviations cover")] | None = None
    confidence: Annotated[float, Meta(ge=0.5, lt=1, description="how sure a promise is")] | None = None
    whole_runs: Annotated[int, Meta(ge=1, le=MOST_WHOLE_RUNS)] = LEAST_TOGETHER
    settled_epochs: Annotated[int, Meta(ge=1, le=1_000)] = 1
    diverged: Annotated[
        int, Meta(ge=0, le=MOST_DIVERGED, description="runs without usable losses, counted as misses")
    ] = 0
    cut_at_random: Annotated[
        int, Meta(ge=0, description="runs that ended early, as was said for reasons unlike their losses")
    ] = 0
    observed: Annotated[ObservedRun, Meta(description="a run under way to go on from")] | None = None

    def validate(self) -> None:
        """Require one law per epoch, each with runs that lend residuals, and counts that have a meaning."""
        counts = self.residuals == "per_run" and self.unseen_loss is not None
        for field, given, what in (
            ("confidence", self.confidence is not None, "a confidence counts whole runs, as"),
            ("diverged", self.diverged, "runs that diverged count beside whole runs, as"),
        ):
            if given and not counts:
                message = (
                    f"{what} one more unlike all seen does: keep residuals per_run, and give unseen_loss"
                )
                raise InvalidInputError(message, f".{field}")
        require_unique([_row(item)[0] for item in self.steps], ".steps")
        require_unique([_row(item)[0] for item in self.jumps], ".jumps")
        if self.scale == "log":
            self._require_positive()
        self._require_starts()
        try:
            self.law  # noqa: B018 - says whether it can be put together
        except NotCoveredError as error:
            epochs = Epochs.of([run.positions for run in self.runs], [run.observed for run in self.runs])
            bare = [path for path, row in self.rows if not epochs.pool(*_row(row))]
            raise InvalidInputError(str(error), bare[0]) from error

    def after(self, trained: Schedule, loss: float) -> "TracedLaw":
        """The law of the rest of a run that trained this since the law's epoch 1, given its loss now.

        Parameters
        ----------
        trained : Schedule
            Model and cluster of the epochs; none before the first.
        loss : float
            After them [loss].
        """
        stages = joined_stages(self.from_start(trained))
        rest = msgspec.structs.replace(self, observed=ObservedRun(stages=stages, loss=loss))
        rest.__dict__["law"] = self.law  # the same coefficients and runs: what was worked out stays
        return rest

    @property
    def evaluated(self) -> bool:
        """Whether the loss before epoch 1 is known: observed of the run under way, or of all runs."""
        return self.observed is not None or all(run.evaluated for run in self.runs)

    @property
    def trained_before(self) -> Schedule:
        """What a run under way trained before epoch 1."""
        return () if self.observed is None else self.observed.schedule

    @property
    def counts_carefully(self) -> bool:
        """Whether runs count with more misses than they had, so that ends of the law are upper ends."""
        return self.residuals == "per_run" and (self.unseen_loss is not None or self.settled_epochs > 1)

    def from_start(self, schedule: Schedule) -> Schedule:
        """A schedule of epochs to come, with what a run under way trained before."""
        return (*self.trained_before, *schedule)

    @property
    def known(self) -> Known | None:
        """Where a run under way stands, on the scale of the law."""
        if self.observed is None:
            return None
        return Known(len(self.trained_before), self.on_scale(self.observed.loss))

    def on_scale(self, loss: float) -> float:
        """A loss on the scale of the law, minus infinity for the logarithm of what has none."""
        if self.scale == "loss":
            return loss
        return math.log(loss) if loss > 0 else -math.inf

    @property
    def beside(self) -> int:
        """How many runs are counted beside those that lend: one unlike all seen, and those that diverged."""
        return 0 if self.unseen_loss is None else 1 + self.diverged

    @property
    def only_whole_runs(self) -> bool:
        """Whether plans that fewer than `whole_runs` runs went through are refused."""
        return self.confidence is not None or (self.care is not None and not self.deviations)

    def _require_starts(self) -> None:
        """Where one run of a first stage was not evaluated before it, l(1) is as it was seen for all."""
        without = {run.stages[0].trained for run in self.runs if not run.evaluated}
        for index, run in enumerate(self.runs):
            if run.evaluated and run.stages[0].trained in without:
                raise InvalidInputError(
                    "another run that begins with the same stage has no l(0): leave this one's out, too, "
                    "as the law of l(1) must not depend on it",
                    f".runs[{index}].first_epoch",
                )
        for index, step in enumerate(self.steps):
            if step.retention and step.first and step.age == 1 and (step.model, step.cluster) in without:
                raise InvalidInputError(
                    "must be 0: of some runs that begin so, l(0) was not observed",
                    f".steps[{index}].retention",
                )

    def _require_positive(self) -> None:
        message = "only positive losses have logarithms; use the scale of the loss"
        for index, run in enumerate(self.runs):
            if min(run.losses) <= 0:
                place = run.losses.index(min(run.losses))
                raise InvalidInputError(message, f".runs[{index}].losses[{place}]")
        if self.unseen_loss is not None and self.unseen_loss <= 0:
            raise InvalidInputError(message, ".unseen_loss")
        if self.observed is not None and self.observed.loss <= 0:
            raise InvalidInputError(message, ".observed.loss")

    @property
    def rows(self) -> list[tuple[str, FittedStep | FittedJump]]:
        """Steps and jumps with their places."""
        steps = [(f".steps[{index}]", row) for index, row in enumerate(self.steps)]
        return [*steps, *((f".jumps[{index}]", row) for index, row in enumerate(self.jumps))]

    @cached_property
    def law(self) -> AffineLaw:
        """The law with its residuals."""
        return assembled(
            dict(_row(row) for _, row in self.rows),
            [run.positions for run in self.runs],
            [run.observed for run in self.runs],
            self.scale,
            [run.origin for run in self.runs],
        )

    def check(self, instance: "Instance") -> None:
        """Refuse what traces cannot know: they know models and clusters, not other data or another start.

        Raises
        ------
        InvalidInputError
            With the place in the instance of the first thing wrong.
        """
        known = {
            "model": {item.name for item in instance.models},
            "cluster": {item.name for item in instance.clusters},
        }
        run = self.observed
        stages = [] if run is None else [(f".observed.stages[{i}]", row) for i, row in enumerate(run.stages)]
        for path, row in [*self.rows, *stages]:
            for field in ("model", "cluster", "previous_model", "previous_cluster"):
                name = getattr(row, field, None)
                if name is not None:
                    require_known(name, known[field.removeprefix("previous_")], f".traced_law{path}.{field}")
        for path, given in (
            (".data_law", instance.data_law is not None),
            (".target.initial_model", run is None and instance.target.initial_model is not None),
            (".datasets", len(instance.datasets) > 1),
        ):
            if given:
                raise InvalidInputError(
                    "a traced law holds for the data and the start of its runs; give one dataset, no data "
                    "law and no initial model",
                    path,
                )
        if run is not None:
            self._require_start(instance.target, run)

    def _require_start(self, target: "Target", run: ObservedRun) -> None:
        """Epoch 1 is the one after those of a run under way: model and loss are where that stands."""
        last = run.stages[-1].model if run.stages else None
        for path, given, wanted in (
            (".target.initial_model", target.initial_model, last),
            (".target.initial_loss", target.initial_loss, run.loss),
        ):
            if given != wanted:
                message = f"is {given!r}, but the run under way (traced_law.observed) stands at {wanted!r}"
                raise InvalidInputError(f"{message}; make the two equal", path)


@lru_cache(maxsize=1024)  # most runs of a law were trained by one of a few schedules
def _positions_of(stages: tuple[Stage, ...]) -> tuple[Position, ...]:
    return positions(tuple(stage.trained for stage in stages for _ in range(stage.epochs)))


def joined_stages(schedule: Schedule) -> tuple[Stage, ...]:
    """The stages of a schedule."""
    return tuple(
        Stage(model=item.trained[0], cluster=item.trained[1], epochs=item.age) for item in ends_of(schedule)
    )


def traced_law(
    law: AffineLaw,
    residuals: Residuals = "per_run",
    unseen_loss: float | None = None,
    deviations: tuple[float, ...] = (),
    **counting: Any,
) -> TracedLaw:
    """A fitted law as part of an instance; see `TracedLaw` for the arguments."""
    steps = [key for key in law.rows if key[1] or key[2] > 1]
    steps.sort(key=lambda key: (key[0], not key[1], key[3] or ("", ""), key[2]))
    jumps = sorted(law.rows.keys() - set(steps), key=lambda key: (key[3] or ("", ""), key[0]))
    return TracedLaw(
        runs=tuple(
            RecordedRun(
                stages=joined_stages(run.trained),
                losses=tuple(run.observed[int(not run.evaluated) :].tolist()),
                first_epoch=0 if run.evaluated else 1,
                origin=run.origin,
            )
            for run in law.records
        ),
        steps=tuple(
            FittedStep(
                first=key[1],
                age=key[2],
                ages=None if law.rows[key].ages == (key[2], key[2]) else law.rows[key].ages,
                **_shared(key, law.rows[key]),
            )
            for key in steps
        ),
        jumps=tuple(FittedJump(pooled=law.rows[key].pooled, **_shared(key, law.rows[key])) for key in jumps),
        scale=law.scale,
        residuals=residuals,
        unseen_loss=unseen_loss,
        deviations=deviations,
        **counting,
    )


def _shared(key: RowKey, row: AffineStep) -> dict[str, Any]:
    """What a step and a jump have in common."""
    (model, cluster), previous = key[0], key[3] or (None, None)
    return {
        "model": model,
        "cluster": cluster,
        "previous_model": previous[0],
        "previous_cluster": previous[1],
        "intercept": row.intercept,
        "start_slope": row.start_slope,
        "retention": row.retention,
    }
