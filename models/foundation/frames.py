"""Frames of pandas, which is optional: only who asks for a frame needs it."""

from collections.abc import Iterable, Sequence
from typing import Any

from depl.models.foundation.errors import InvalidInputError


def frame_of(columns: Sequence[str], rows: Iterable[Sequence[object]], instead: str = "") -> Any:
    """A ``pandas.DataFrame`` of some rows, None as a missing value.

    Parameters
    ----------
    columns : sequence of str
    rows : iterable of sequence
        With a value per column.
    instead : str
        What does without pandas, for the message.

    Raises
    ------
    InvalidInputError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        hint = f"; {instead}" if instead else ""
        raise InvalidInputError(
            f"frames need pandas, which is not installed: pip install 'depl[tables]'{hint}"
        ) from error
    return pd.DataFrame.from_records(list(rows), columns=list(columns))
