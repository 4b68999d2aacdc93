"""Files of training traces: npz where the name ends so, CSV otherwise."""

from pathlib import Path

from depl.models.foundation.documents import write_bytes
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.csv_files import read_csv, write_csv
from depl.models.traces.npz_files import read_npz, write_npz
from depl.models.traces.table import Traces


def read_traces(path: str | Path) -> Traces:
    """Read a file of the format of ours, strictly; other files are for `depl.models.traces.logs`.

    Parameters
    ----------
    path : str or Path
        An npz file (`depl.models.traces.npz_files`) if its name ends in ``.npz``, otherwise a CSV file
        (`depl.models.traces.csv_files`).

    Raises
    ------
    InvalidInputError
        If the file cannot be read or is not exactly of that format; the path of the error names the file,
        the row and the column.
    """
    return read_npz(path) if Path(path).suffix == ".npz" else read_csv(path)


def write_traces(path: str | Path, traces: Traces, decimals: int | None = None) -> None:
    """Write traces so that a reader sees the old file or the new one, never half of it.

    Parameters
    ----------
    path : str or Path
        Written as npz if it ends in ``.npz``, otherwise as CSV.
    traces : Traces
    decimals : int, optional
        For npz only: round losses and metrics to so many decimals, which makes the file much smaller.
        Without it every number is read back as it was.

    Raises
    ------
    InvalidInputError
        If the file cannot be written, or so many decimals are not possible.
    """
    if Path(path).suffix == ".npz":
        write_bytes(path, write_npz(traces, decimals))
    elif decimals is not None:
        raise InvalidInputError("only npz files are rounded; leave decimals out", ".decimals")
    else:
        write_bytes(path, write_csv(traces).encode("utf-8"))
