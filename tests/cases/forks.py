"""Programs that have to be a process of their own, in forks of one fresh process that has imported once."""

import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NamedTuple, Self

ROOT = Path(__file__).resolve().parents[2]


class Ended(NamedTuple):
    """The exit code of a program, or minus the signal that ended it, and what it printed on both streams."""

    code: int
    text: str


class Forks:
    """A context manager: a fresh Python that imports some modules, and forks itself for every program."""

    def __init__(self, *modules: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, *modules],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.communicate(timeout=60)

    def run(self, program: str, *words: object) -> Ended:
        """Run a program with ``words`` as its arguments, wait for its end."""
        self._process.stdin.write(json.dumps([program, [str(word) for word in words]]) + "\n")
        self._process.stdin.flush()
        return Ended(*json.loads(self._process.stdout.readline()))


def _main() -> None:
    for name in sys.argv[1:]:
        __import__(name)
    for line in sys.stdin:
        with tempfile.TemporaryFile() as output:
            child = os.fork()
            if child == 0:
                _run(*json.loads(line), output.fileno())
            _, status = os.waitpid(child, 0)
            output.seek(0)
            told = os.waitstatus_to_exitcode(status), output.read().decode()
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


def _run(program: str, words: list[str], output: int) -> None:
    code = 1
    for stream in (1, 2):
        os.dup2(output, stream)
    try:
        sys.argv[1:] = words
        exec(program, {"__name__": "__main__"})
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, the test reads it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _main()
