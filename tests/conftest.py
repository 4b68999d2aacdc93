"""Tiny named instances, made once per session; variants come from ``.replace(...)``, not from new files.

``tiny``        the shipped instance that is solved by hand: 2 models, 2 clusters, 2 datasets, K_max = 3
``steady``      nothing is random: 1 cluster, 1 dataset, 1 model that lowers the loss by 2 per epoch
``bell``        ``steady`` with a normal improvement of mean 2 and variance 1 instead
"""

import gc
import os
import signal

# A job that a script puts into the background ignores Ctrl-C, as do its children; here it is tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Read when NumPy and SciPy are loaded, which is below, and by the processes that tests start: on arrays as
# small as those here, further threads of the linear algebra wait for work, which costs more than the work.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
# argparse then looks up no translations, most of what making a parser takes; messages are English anyway.
os.environ["LANGUAGE"] = "C"

import pytest
from hypothesis import settings

from depl.cli import main
from depl.instances import library
from depl.models.problem.laws import Normal, registry
from depl.models.solving import methods
from tests.problems import instance, model, plan

# A test passes or fails alike on every machine, however busy; `--hypothesis-profile=explore` draws afresh,
# and a hundred examples each (`fuzz`: 600); where the same ones come again, the second half adds little.
settings.register_profile("repeat", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("explore", deadline=None)
settings.register_profile("fuzz", deadline=None, max_examples=600)
settings.load_profile("repeat")

# The methods of the toolkit are registered at the first need; let that be before a test swaps the registry.
methods.registered()


def pytest_collection_finish():
    """Modules and tests live until the end: the collector of garbage need not walk them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # of what is made since then, little is garbage that needs the collector


@pytest.fixture(scope="session")
def tiny():
    return library.load("tiny")


@pytest.fixture(scope="session")
def tiny_optimum():
    """Two epochs of full on cloud with all data, then pruned on edge with sensors; x = 3 everywhere."""
    data = {"cloud": ("archive", "sensors"), "edge": ("sensors",)}
    return plan(("full", "cloud", 3.0), ("full", "cloud", 3.0), ("pruned", "edge", 3.0), data=data)


@pytest.fixture(scope="session")
def steady():
    """c = 2 * 4 = 8, so that T(k) = 8 / x + 1 / 2; 10 - 2 K reaches 6 at K = 2, within T_max = 5 at x = 4."""
    return instance(model("net", 2), name="steady")


@pytest.fixture(scope="session")
def bell(steady):
    """l(K) is normal with mean 10 - 2 K and variance K."""
    return steady.replace(name="bell", models=(model("net", Normal(mean=2, variance=1)),))


@pytest.fixture(scope="session")
def steady_plan():
    """The cheapest plan of ``steady``: cost 2 * 3 * 4 = 24."""
    return plan(*[("net", "site", 4.0)] * 2)


@pytest.fixture
def own_methods(monkeypatch):
    """A registry of methods that forgets what a test registers."""
    monkeypatch.setattr(methods, "_REGISTRY", dict(methods._REGISTRY))


@pytest.fixture
def own_laws(monkeypatch):
    """A registry of laws that forgets what a test registers."""
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))


@pytest.fixture
def ask(capsys):
    """Answer one command line; returns exit code, standard output and standard error."""

    def run(*words):
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return run
