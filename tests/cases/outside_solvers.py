"""Solvers of others: each reads a program from a file and says its optimum, by its own tolerances."""

import math
import subprocess

import highspy
import pulp
import pyscipopt
import swiglpk

_LONGEST = 60  # seconds of one solve


def highs(path):
    """HiGHS as it is by default, with a gap of 0."""
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    engine.setOptionValue("mip_rel_gap", 0.0)
    assert engine.readModel(str(path)) in (highspy.HighsStatus.kOk, highspy.HighsStatus.kWarning)
    engine.run()
    status = engine.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return math.inf
    assert status == highspy.HighsModelStatus.kOptimal, status
    return engine.getInfo().objective_function_value


def scip(path, tolerance=1e-6):
    """SCIP, which by default has a gap of 0; cones are kept to the tolerance alone."""
    engine = pyscipopt.Model()
    engine.hideOutput()
    engine.setParam("numerics/feastol", tolerance)
    engine.readProblem(str(path))
    engine.optimize()
    if engine.getStatus() == "infeasible":
        return math.inf
    assert engine.getStatus() == "optimal", engine.getStatus()
    return engine.getObjVal()


def cbc(path):
    """CBC, the program that comes with PuLP, with a gap of 0."""
    answer = path.with_suffix(".cbc")
    command = [pulp.PULP_CBC_CMD.pulp_cbc_path, str(path), "ratio", "0", "allow", "0", "solve"]
    subprocess.run([*command, "solution", str(answer)], check=True, capture_output=True, timeout=_LONGEST)
    first = answer.read_text().splitlines()[0]
    if "nfeasible" in first:
        return math.inf
    assert first.startswith("Optimal"), first
    return float(first.split()[-1])


def glpk(path):
    """GLPK, branching on the first fractional variable.

    GLPK 5.0 prunes too much on some programs of `tiny` with tangents of x t >= c: by the order of the columns
    and the rule of branching it calls 30.2 or 42.6 optimal, where HiGHS, SCIP, CBC and GLPK itself, by
    another rule or with the binaries fixed, find 26.3. `glpk_relaxed` does not branch.
    """
    problem = _read_by_glpk(path)
    options = swiglpk.glp_iocp()
    swiglpk.glp_init_iocp(options)
    options.presolve, options.tm_lim = swiglpk.GLP_ON, 1000 * _LONGEST
    options.br_tech = swiglpk.GLP_BR_FFV
    code = swiglpk.glp_intopt(problem, options)
    if code == swiglpk.GLP_ENOPFS:
        return math.inf
    status = swiglpk.glp_mip_status(problem)
    assert (code, status) == (0, swiglpk.GLP_OPT), (code, status)
    return swiglpk.glp_mip_obj_val(problem)


def glpk_relaxed(path):
    """The optimum without whole numbers, by the simplex method of GLPK."""
    problem = _read_by_glpk(path)
    assert swiglpk.glp_simplex(problem, None) == 0
    assert swiglpk.glp_get_status(problem) == swiglpk.GLP_OPT
    return swiglpk.glp_get_obj_val(problem)


def _read_by_glpk(path):
    problem = swiglpk.glp_create_prob()
    swiglpk.glp_term_out(swiglpk.GLP_OFF)
    if path.suffix == ".mps":
        assert swiglpk.glp_read_mps(problem, swiglpk.GLP_MPS_FILE, None, str(path)) == 0
    else:
        assert swiglpk.glp_read_lp(problem, None, str(path)) == 0
    return problem


LINEAR = {"highs": highs, "scip": scip, "cbc": cbc, "glpk": glpk}
"""Those for linear programs, by name."""
