"""Examples at the end of each command's help: lines to copy, that run one after the other in an empty folder.

Where an example needs a file, the line before it writes the file, or the comment says where it is from.
"""

from collections.abc import Mapping

EXAMPLES: Mapping[str, str] = {
    "bench": """\
depl bench list
depl bench run paper --limit 1 --methods exact,depl --out few.sqlite
depl bench report                            # of the recorded attempts
""",
    "bench list": """\
depl bench list
depl bench list --json
""",
    "bench run": """\
depl bench run paper --limit 1 --methods fastest-cluster --out few.sqlite
depl bench run random scaling-models --seconds 5 --workers 2
""",
    "bench resume": """\
depl bench run paper --limit 1 --methods fastest-cluster --out few.sqlite
depl bench resume few.sqlite                 # after a crash, Ctrl-C or a power cut
""",
    "bench export": """\
depl bench export paper-eta --out exported
depl bench export digits --out exported --json
""",
    "bench recheck": """\
depl bench recheck paper --seconds 20
depl bench recheck random --json
""",
    "bench report": """\
depl bench report                            # all that is recorded
depl bench report paper-eta --no-figures --out page.html
""",
    "bench cases": """\
depl bench cases list
depl bench cases table
depl bench cases run exact-law --smoke
""",
    "bench cases list": """\
depl bench cases list
depl bench cases list --json
""",
    "bench cases run": """\
depl bench cases run exact-law --smoke       # as small as possible, nothing is written
depl bench cases run exact-law ladder --out records
""",
    "bench cases table": """\
depl bench cases table
depl bench cases table --json
""",
    "bench cases draw": """\
depl bench cases draw graph figures
depl bench cases draw promises-kept figures
""",
    "bench behaviour": """\
depl bench behaviour record before.json --problems 'tiny*'
depl bench behaviour compare before.json --problems 'tiny*'
""",
    "bench behaviour record": """\
depl bench behaviour record before.json --problems 'tiny*' --settings 'exact*'
depl bench behaviour record all.json         # takes minutes
""",
    "bench behaviour compare": """\
depl bench behaviour record before.json --problems 'tiny*' --settings 'exact*'
depl bench behaviour compare before.json     # after a change of the program
""",
}
"""By the words of the command."""


def examples(command: str) -> str:
    """The examples of a command as the end of its help; empty for a command that has none."""
    lines = EXAMPLES.get(command, "").splitlines()
    return "\n".join(["examples:", *(f"  {line}" for line in lines)]) if lines else ""
