"""Modules and files of a user that register methods or laws, or define suites: they enter like ours.

Every command that takes the name of a method, a law or a suite imports what its ``--import`` names before it
begins; sweeps name the same to their workers (`depl.benchmarks.measure.catalogue`).
"""

import contextlib
import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType

from depl.models.foundation.errors import DeplError, InvalidInputError

_CASES = "depl.benchmarks.studies."
"""What the modules of benchmark cases are called: whoever measures a case may have written it."""

_imported: set[str] = set()
"""Names of the modules that were imported for the user."""

_ENDS = 'it ends the program; leave that to a part that runs only as a script (if __name__ == "__main__")'


def resolved(source: str) -> str:
    """``source`` as it can be imported from another working folder: a file by its absolute path.

    Raises
    ------
    InvalidInputError
        If it ends in ``.py`` and there is no such file.
    """
    if not source.endswith(".py"):
        return source
    if not os.path.isfile(source):
        raise InvalidInputError("there is no such file to import", source)
    return str(Path(source).resolve())


def import_source(source: str) -> ModuleType:
    """Import a module by its name, or a file by its path; a second time, the same module.

    What it prints meanwhile goes to standard error, as standard output is for answers.

    Raises
    ------
    InvalidInputError
        If it cannot be imported; the message holds why, and the line of a file.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            module = _file(Path(source)) if source.endswith(".py") else importlib.import_module(source)
    except (Exception, SystemExit) as error:  # a user's code may fail with anything
        if isinstance(error, SystemExit):
            reason = f"{_ENDS} (SystemExit: {error})"
        else:
            named = "" if isinstance(error, DeplError) else f"{type(error).__name__}: "
            reason = f"{named}{error}{_line(source, error)}{_not_found(source, error)}"
        raise InvalidInputError(f"cannot be imported: {reason}", source) from error
    _imported.add(module.__name__)
    return module


def users_fault(error: Exception | SystemExit) -> InvalidInputError | None:
    """What to say of an error that code of the user raised, or a library that it called.

    The user's code is what `import_source` imported, and the benchmark cases.

    Returns
    -------
    InvalidInputError or None
        It names the file and the line. None where code of depl raised the error.
    """
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        name = str(frame.f_globals.get("__name__", ""))
        if name in _imported or name.startswith(_CASES):
            place = f"{frame.f_code.co_filename}, line {line}"
            message = f"this code fails with {type(error).__name__}: {error}; correct it"
            return InvalidInputError(message, place)
        if name.partition(".")[0] == "depl":
            return None
    return None


def _line(source: str, error: Exception) -> str:
    """The last line of the file that led to an error; a syntax error names its own."""
    if isinstance(error, SyntaxError) or not source.endswith(".py"):
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    own = os.path.abspath(source)
    lines = [frame.lineno for frame in frames if os.path.abspath(frame.filename) == own]
    return f" (line {lines[-1]})" if lines else ""


def _not_found(source: str, error: Exception) -> str:
    """What to do where there is no module of the name that was given, or that lies beside a file."""
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return ""
    if source.endswith(".py"):
        folder = Path(source).resolve().parent
        beside = (folder / f"{error.name}.py").is_file()
        return f"; it lies beside the file: set PYTHONPATH={folder}" if beside else ""
    if source != error.name and not source.startswith(f"{error.name}."):
        return ""
    file = f"{source.replace('.', '/')}.py"
    known = os.path.isfile(file)
    return f"; did you mean the file {file!r}?" if known else "; name a module, or a file by its path (x.py)"


def _file(path: Path) -> ModuleType:
    name = f"depl_imported_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidInputError("is not a Python file", str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
