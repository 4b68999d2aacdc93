"""The flat part of YAML files, as tools write hyperparameters: ``key: value``, one a line."""

import re
from pathlib import Path

from depl.models.tool_logs.reading import reader
from depl.models.traces.text_files import log_text

_ENTRY = re.compile(r"([A-Za-z_][\w./-]*):[ \t]+(\S.*)")


@reader
def read_flat(path: str | Path) -> dict[str, str]:
    """Keys at the margin and their scalar values, without quotes; what is nested or a list is left out."""
    found = {}
    for line in log_text(path).split("\n"):
        match = _ENTRY.fullmatch(line.rstrip())
        if match is None or match[2][0] in "[{&*!|>#":
            continue
        value = match[2].strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1].replace("''", "'")
        found[match[1]] = value
    return found
