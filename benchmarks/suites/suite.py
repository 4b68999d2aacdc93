"""The older spelling of a study that sweeps, for files that people have: ``SUITE = Suite(...)``."""

from collections.abc import Callable, Sequence
from typing import Any

from depl.benchmarks.measure.registry import Configuration, Draw, Study

__all__ = ["Configuration", "Draw", "Suite"]


def Suite(  # noqa: N802 - it was a class
    name: str,
    summary: str,
    draws: Callable[[], Sequence[Draw]],
    configurations: tuple[Configuration, ...],
    **further: Any,
) -> Study:
    """A study of these draws by these configurations; see `depl.benchmarks.measure.registry.Study`."""
    return Study(name, summary, draws=draws, configurations=configurations, **further)
