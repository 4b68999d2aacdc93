"""The searches give the same answers with and without compiled kernels, in one process for both."""

from depl.models.exact import counted, law
from tests.cases.uncompiled import require_same_outcomes

PROGRAM = f"""
from tests.cases.law_search_cases import AWKWARD
from tests.cases.uncompiled import record
from tests.oracles.search import tiny_problems
from depl.models.solving.methods import Limits
from {law.__name__} import exact
from {counted.__name__} import scenario_search
for name in ("an initial model", "switches that gain"):
    print(record(exact(AWKWARD[name].replace(maximum_epochs=3), Limits())))
for problem in tiny_problems(6, 3):
    print(record(scenario_search(problem.instance, Limits(scenarios=problem.scenarios))))
"""


def test_the_searches_give_the_same_answers_without_compiling():
    require_same_outcomes(PROGRAM, at_least=4)
