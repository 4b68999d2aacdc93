"""``--import``: methods and laws of the user's own, for every command that takes a method or an instance."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import depl
from depl.cli import main
from tests.cases.documents import put

ROOT = Path(__file__).resolve().parents[3]
LAW = """
import depl, scipy.stats

class ImportedLogistic(depl.Law, frozen=True, kw_only=True, tag="imported_logistic"):
    place: float
    scale: float

    def distribution(self):
        return scipy.stats.logistic(self.place, self.scale)

depl.register_law(ImportedLogistic)
"""
FAULTS = {
    "None / 2": "TypeError",
    "raise SystemExit(3)": "SystemExit: 3",  # exit code 3 would read as *proved infeasible*
    "sys.exit('gone')": "SystemExit: gone",
}


def test_a_method_of_a_file_that_fails_or_ends_the_process_is_told_with_its_line(ask, tmp_path, own_methods):
    text = 'import depl, sys\n\ndef failing(*_):\n    {}\n\ndepl.register("imported-failing-{}", failing)\n'
    for number, (line, said) in enumerate(FAULTS.items()):
        path = tmp_path / f"failing{number}.py"
        path.write_text(text.format(line, number), encoding="utf-8")
        code, _, err = ask("solve", "tiny", "--method", f"imported-failing-{number}", "--import", path)
        assert (code, "internal error" in err) == (2, False)
        assert f"depl: {path}, line 4: this code fails with {said}" in err


TALKS = {
    "by Python": "print('by Python')",
    "by the first stream": "sys.__stdout__.write('by the first stream')",
    "by C": "ctypes.CDLL(None).puts(b'by C')",
    "past it": "os.write(1, b'past it')",
    "by a process": "os.system('echo by a process')",
    "by a law": "print('by a law')",
}
TALKING = """
import ctypes, os, sys
from scipy import stats
import depl

def talking(instance, limits):
    \"\"\"Talk.\"\"\"
    {}

class Talking(depl.Law, frozen=True, kw_only=True, tag="talking"):
    def distribution(self):
        {}
        return stats.logistic(2.0, 0.1)

depl.register("imported-talking", talking)
depl.register_law(Talking)
"""


PROGRAM = """
import sys
from depl.cli import main
path, instance, bad = sys.argv[1:]
codes = [main(["solve", instance, "--method", "imported-talking", "--json", "--import", path])]
sys.stdout.flush()
for name in bad, "good":
    codes.append(main(["solve", "tiny", "--import", name]))
print("codes", *codes, file=sys.stderr)
"""


def test_a_process_of_its_own_imports_first_and_with_json_nothing_but_the_answer_is_on_standard_output(
    tmp_path, steady
):
    """Neither what Python prints, nor what a library or a process writes past it, now or from a buffer."""
    path, instance, bad = (tmp_path / name for name in ("talking.py", "instance.json", "bad.py"))
    lines = [line for line in TALKS.values() if "law" not in line]
    path.write_text(TALKING.format("\n    ".join(lines), TALKS["by a law"]), encoding="utf-8")
    bad.write_text("x = 1 / 0", encoding="utf-8")
    document = put(json.loads(steady.to_json()), "models[0].improvement.noise", {"type": "talking"})
    instance.write_text(json.dumps(document), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", PROGRAM, path, instance, bad]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, env=environment
    )  # its standard output is a pipe, and so has buffers
    answer = json.loads(done.stdout)
    assert (answer["method"], done.stderr.splitlines()[-1]) == ("imported-talking", "codes 5 2 2")
    assert answer["reason"] == "no plan found: the method returns None"
    assert [line for line in TALKS if line not in done.stderr] == []
    assert "Traceback" not in done.stderr
    assert f"depl: {bad}: cannot be imported: ZeroDivisionError: division by zero (line 1)" in done.stderr
    assert "depl: good: cannot be imported: ModuleNotFoundError" in done.stderr


def test_a_method_that_closes_the_standard_output_is_no_defect(monkeypatch, capsys, own_methods):
    depl.register("closing", lambda instance, limits: sys.stdout.close())
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    code = main(["solve", "tiny", "--method", "closing"])
    assert (code, capsys.readouterr().err) == (2, "depl: cannot print (I/O operation on closed file)\n")


def test_a_law_of_a_file_is_known_to_every_command_that_reads_an_instance(ask, tmp_path, steady, own_laws):
    mine, path, plan = (tmp_path / name for name in ("mine.py", "instance.json", "plan.json"))
    mine.write_text(LAW, encoding="utf-8")
    law = {"type": "imported_logistic", "place": 2.0, "scale": 0.1}
    document = put(json.loads(steady.to_json()), "models[0].improvement.noise", law)
    path.write_text(json.dumps(document), encoding="utf-8")
    code, _, err = ask("instances", "show", path)
    assert (code, "imported_logistic" in err) == (2, True)
    imported = ("--import", mine)
    assert ask("solve", path, *imported, "--method", "exact", "--out", plan)[0] == 0
    for words in (("check", path, plan), ("explain", path, plan)):
        assert ask(*words, *imported)[::2] == (0, ""), words
    code, schema, _ = ask("instances", "schema", *imported)
    assert (code, "imported_logistic" in schema) == (0, True)
