"""The flat part of YAML files, as tools write hyperparameters: ``key: value``, one a line."""

import re
from pathlib import Path

from depl.models.foundation.documents import read_text

_ENTRY = re.compile(r"([A-Za-z_][\w./-]*):[ \t]+(\S.*)")


def read_flat(path: str | Path) -> dict[str, str]:
    """Keys at the margin and their scalar values, without quotes; what is nested or a list is left out."""
    found = {}
    for line in read_text(path).splitlines():
        match = _ENTRY.fullmatch(line.rstrip())
        if match is None or match[2][0] in "[{&*!|>#":
            continue
        value = match[2].strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1].replace("''", "'")
        found[match[1]] = value
    return found
