"""Functions that tests call in other processes."""

import os
import subprocess
import sys
import time
from pathlib import Path


def doubled(items):
    sys.stdout.write("this is no answer\n")
    return items * 2


def threads(_):
    return os.environ["OMP_NUM_THREADS"]


def fails(_):
    return {}["missing"]


def sleeps(seconds):
    time.sleep(seconds)


def dies(_):
    sys.stdout.write("last words\n")
    sys.stdout.flush()
    os.abort()


def starts_another(note):
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
    Path(note).write_text(str(other.pid))
    time.sleep(100)
