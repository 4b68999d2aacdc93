"""Files of training traces: CSV, plain or packed by gzip; npz, which was written once, is read."""

import gzip
from pathlib import Path

from depl.models.foundation.documents import write_bytes
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.csv_files import read_csv, write_csv
from depl.models.traces.npz_files import read_npz
from depl.models.traces.table import Traces


def read_traces(path: str | Path) -> Traces:
    """Read a file of the format of ours, strictly; other files are for `depl.models.tool_logs.importing`.

    Parameters
    ----------
    path : str or Path
        An npz file (`depl.models.traces.npz_files`) if its name ends in ``.npz``, otherwise a CSV file
        (`depl.models.traces.csv_files`), which may be packed by gzip.

    Raises
    ------
    InvalidInputError
        If the file cannot be read or is not exactly of that format; the path of the error names the file,
        the row and the column.
    """
    return read_npz(path) if Path(path).suffix == ".npz" else read_csv(path)


def write_traces(path: str | Path, traces: Traces) -> None:
    """Write traces so that a reader sees the old file or the new one, never half of it.

    Parameters
    ----------
    path : str or Path
        Of a CSV file, packed by gzip if the path ends in ``.gz``. Every number is read back as it was.
    traces : Traces

    Raises
    ------
    InvalidInputError
        If the file cannot be written, or is to be npz.
    """
    require_csv(path)
    content = write_csv(traces).encode("utf-8")
    write_bytes(path, gzip.compress(content, mtime=0) if Path(path).suffix == ".gz" else content)


def require_csv(path: str | Path) -> None:
    """Refuse a path of npz, before what is to be written there is made.

    Raises
    ------
    InvalidInputError
        With what to write in its place.
    """
    if Path(path).suffix == ".npz":
        message = "npz files of traces are read and no longer written: write .csv or .csv.gz"
        raise InvalidInputError(message, str(path))
