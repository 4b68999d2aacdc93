"""Functions that tests call in other processes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec


def doubled(content, tell):
    tell(content)
    sys.stdout.write("this is no answer\n")
    return msgspec.json.encode(msgspec.json.decode(content) * 2)


def threads(content, tell):
    return msgspec.json.encode(os.environ["OMP_NUM_THREADS"])


def fails(content, tell):
    return {}["missing"]


def sleeps(content, tell):
    time.sleep(msgspec.json.decode(content))


def dies(content, tell):
    sys.stdout.write("last words\n")
    sys.stdout.flush()
    os.abort()


def starts_another(content, tell):
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
    Path(msgspec.json.decode(content)).write_text(str(other.pid))
    time.sleep(100)
