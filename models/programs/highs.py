"""The one place where a solver is called: HiGHS by one object per program, and SCIP.

Neither raises for a model without a solution: look at `Answer.status` first. A `Session` runs in a thread of
its own (that of highspy has locks which all its objects share, so that only one could solve at a time): when
the time limit has passed by more than `GRACE` seconds or Ctrl-C is pressed, HiGHS is told to stop, and left
alone if it does not listen, so both always hold. HiGHS refuses unknown option names only by a return code
that is easily lost: names are checked first.
"""

import importlib.util
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import highspy
import numpy as np
import pyomo.environ as pyo
from pyomo.common.errors import InfeasibleConstraintException
from pyomo.contrib.solver.common.results import TerminationCondition
from pyomo.contrib.solver.solvers.scip.scip_direct import ScipDirect
from pyomo.repn import generate_standard_repn
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice, nearest
from depl.models.foundation.wording import installing
from depl.models.programs.notes import is_linear, is_relaxation
from depl.models.programs.quiet import quiet_highs

Option = bool | int | float | str

OPTIONS: Mapping[str, Option] = {
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 0.0,
    "mip_feasibility_tolerance": 1e-7,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "presolve": "off",
    "output_flag": False,
}
"""What HiGHS is told unless the caller says otherwise.

It accepts an integer solution whose rows are off by ``mip_feasibility_tolerance``: what it finds may be too
cheap, which the loop of the methods sees and excludes. The other error nobody sees: at 1e-9, the size of its
own rounding, HiGHS 1.15.1 and 1.16.0 "prove" optima that are a quarter too expensive, of a program whose
cheaper solution violates no row by more than 1e-16, with 36 and 16 of 100 random seeds; at 1e-8 with 0 and 1,
at 1e-7 and 1e-6 with none. Presolve was blamed for it; it makes it rarer (2 of 100 at 1e-9), and is off. Gaps
are 0, also the absolute one, whose default of 1e-6 means nothing in unknown units."""

SCIP_OPTIONS: Mapping[str, Option] = {"limits/gap": 0.0, "limits/absgap": 0.0, "numerics/feastol": 1e-9}
"""The same for SCIP."""

CONE_TOLERANCE = 1e-8
"""Feasibility tolerance of SCIP for cones: at 1e-9 the presolver of SCIP 10.0 called a feasible program
infeasible, that of `tiny` with other capacities; at this one costs are right to about 1e-8."""

GRACE = 2.0
"""Seconds that HiGHS gets to stop after it was told to, before it is left alone."""

_TICK = 0.05
"""Seconds between two looks at the clock and at the bound of a running solve: set by hand. Twice as many make
limits coarser by as much."""

Watcher = Callable[[float], None]
"""Called with the bound of a running solve, in the units of its objective."""


class Status(Enum):
    """Why a solver stopped."""

    OPTIMAL = "optimal"
    """Proved to be optimal, within its gap."""
    RELAXATION_OPTIMAL = "optimal for the relaxation: its objective is a lower bound of the cost"
    """Proved to be optimal, of a program that lacks cuts (`depl.models.programs.notes.is_relaxation`)."""
    INFEASIBLE = "infeasible"
    """Proved to have no solution."""
    UNBOUNDED = "unbounded"
    """Unbounded, or not told apart from infeasible."""
    TIME_LIMIT = "time_limit"
    """The time limit was reached."""
    INTERRUPTED = "interrupted"
    """Ctrl-C."""
    OTHER_LIMIT = "another limit of the solver"
    """A limit that the caller set by an option: nodes, iterations, solutions."""
    ERROR = "error"
    """Anything else."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solver says of a program; the values of its variables are in the Pyomo model."""

    status: Status
    objective: float | None  # of the best solution; None if there is none
    bound: float  # proved, of the optimum; for a minimum minus infinity if nothing is known

    @property
    def proved(self) -> bool:
        """Whether the optimum of the program as it is was proved, be it a relaxation or not."""
        return self.status in (Status.OPTIMAL, Status.RELAXATION_OPTIMAL)


def solve_program(
    model: pyo.ConcreteModel,
    time_limit: float | None = None,
    options: Mapping[str, Option] | None = None,
    solve_with: str = "highs",
) -> Answer:
    """Solve any Pyomo model, linear for HiGHS, and put the solution, if there is one, into its variables.

    The programs of `depl.models.programs` are relaxations until their cuts are added: their optimum is a
    lower bound of the cost, and the status says so.

    Parameters
    ----------
    time_limit : float, optional
        Wall seconds.
    options : mapping, optional
        Changes to `OPTIONS` or `SCIP_OPTIONS`, by the names of the solver.
    solve_with : str
        ``highs``, or ``scip`` if pyscipopt is installed.

    Raises
    ------
    InvalidInputError
        For an unknown solver or option, a value that it refuses, or a solver that is not installed.
    """
    engines: dict[str, type[Session | ScipSession]] = {"highs": Session, "scip": ScipSession}
    if solve_with not in engines:
        raise InvalidInputError(f"no solver {solve_with!r}; {advice(solve_with, engines)}", "solve_with")
    return engines[solve_with](model, options).solve(time_limit)


class Session:
    """One HiGHS object for a Pyomo model with linear rows, to which further rows are added.

    Raises
    ------
    InvalidInputError
        For an unknown option, or a value that HiGHS refuses.
    """

    def __init__(self, model: pyo.ConcreteModel, options: Mapping[str, Option] | None = None) -> None:
        """Translate ``model``; the options are changes to `OPTIONS`, by the names of HiGHS."""
        self.options = {**OPTIONS, **(options or {})}
        self.model, self.columns = model, list[Any]()
        self._highs: Any = quiet_highs()
        known = [name for name in dir(self._highs.getOptions()) if not name.startswith("_")]
        accepted = highspy.HighsStatus.kOk
        _set_options(
            "HiGHS", self.options, known, lambda *pair: self._highs.setOptionValue(*pair) == accepted
        )
        self._bound, self._stop, self._ended = -math.inf, threading.Event(), threading.Event()
        self._ended.set()
        try:
            form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=None)
        except InfeasibleConstraintException:  # of a row without variables
            self._highs = None
            return
        self.columns = list(form.columns)
        self._index = {id(variable): index for index, variable in enumerate(self.columns)}
        self._highs.passModel(_highs_model(form))
        self._highs.cbMipInterrupt.subscribe(self._listen)
        for asked in (self._highs.cbSimplexInterrupt, self._highs.cbIpmInterrupt, self._highs.cbMipInterrupt):
            asked.subscribe(self._stop_if_told)

    def add(self, constraints: Iterable[Any]) -> None:
        """Add constraints of the model that were not there when it was translated."""
        for constraint in constraints:
            body = generate_standard_repn(constraint.body)
            lower, upper = pyo.value(constraint.lower), pyo.value(constraint.upper)
            self._highs.addRow(
                -highspy.kHighsInf if lower is None else lower - body.constant,
                highspy.kHighsInf if upper is None else upper - body.constant,
                len(body.linear_vars),
                np.array([self._index[id(variable)] for variable in body.linear_vars], dtype=np.int32),
                np.array([float(c) for c in body.linear_coefs]),
            )

    def solve(self, time_limit: float | None = None, watch: Watcher | None = None) -> Answer:
        """Solve, and put the best solution into the model; ``watch`` receives the bound, in this thread.

        The time limit, in wall seconds, is kept to within `GRACE` whatever HiGHS does.
        """
        if self._highs is None:
            return Answer(Status.INFEASIBLE, None, math.inf)
        if not self._ended.is_set():  # it was left alone
            return Answer(Status.ERROR, None, -math.inf)
        limit = math.inf if time_limit is None else max(time_limit, 1e-3)
        self._bound = -math.inf
        # HiGHS counts the seconds of all solves of an object.
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + limit)
        ended, stopped = self._run(limit, watch)
        if not ended:
            return Answer(stopped or Status.ERROR, None, self._bound)
        return self._answer(stopped)

    def _run(self, limit: float, watch: Watcher | None) -> tuple[bool, Status | None]:
        """Run HiGHS in its thread; says whether it ended, and who stopped it, if somebody did."""
        began, told = time.perf_counter(), math.inf
        stopped: Status | None = None
        self._stop.clear()
        self._ended.clear()
        threading.Thread(target=self._work, daemon=True).start()
        while told + GRACE > (now := time.perf_counter()):
            try:
                if self._ended.wait(_TICK):
                    return True, stopped
                if watch is not None and stopped is None:
                    watch(self._bound)
            except KeyboardInterrupt:
                stopped = Status.INTERRUPTED
            except BaseException:
                self._stop.set()
                raise
            if stopped is None and now - began > limit + _TICK:
                stopped = Status.TIME_LIMIT
            if stopped is not None and told == math.inf:
                told = now
                self._stop.set()
        return False, stopped

    def _work(self) -> None:
        try:
            self._highs.solve()
        finally:
            highspy.Highs.resetGlobalScheduler(False)  # ends the workers that HiGHS began for this thread
            self._ended.set()

    def _answer(self, stopped: Status | None) -> Answer:
        status = _STATUS.get(self._highs.getModelStatus(), Status.ERROR)
        information = self._highs.getInfo()
        objective, bound = None, -math.inf
        if information.primal_solution_status == 2:  # feasible
            objective = float(information.objective_function_value)
            for variable, value in zip(self.columns, self._highs.getSolution().col_value, strict=True):
                variable.set_value(float(value), skip_validation=True)
        if information.mip_node_count >= 0:  # with whole numbers
            bound = float(information.mip_dual_bound)
        elif status is Status.OPTIMAL and objective is not None:
            bound = objective
        if status is Status.INFEASIBLE:
            bound = math.inf
        if status not in (Status.OPTIMAL, Status.INFEASIBLE) and stopped is not None:
            status = stopped
        return Answer(_worded(status, self.model), objective, bound)

    def _stop_if_told(self, event: Any) -> None:
        if self._stop.is_set():
            event.interrupt()

    def _listen(self, event: Any) -> None:
        bound = float(event.data_out.mip_dual_bound)
        if math.isfinite(bound):
            self._bound = max(self._bound, bound)


class ScipSession:
    """SCIP, by Pyomo, for a model with cones, too; it is translated anew for every solve.

    Raises
    ------
    InvalidInputError
        If SCIP is not installed; for an unknown option, or a value that it refuses.
    """

    def __init__(self, model: pyo.ConcreteModel, options: Mapping[str, Option] | None = None) -> None:
        """Check the options, changes to `SCIP_OPTIONS`."""
        cones: dict[str, Option] = {} if is_linear(model) else {"numerics/feastol": CONE_TOLERANCE}
        self.model, self.options = model, {**SCIP_OPTIONS, **cones, **(options or {})}
        engine = require_scip().Model()

        def accepted(name: str, value: Option) -> bool:
            try:
                engine.setParam(name, value)
            except (ValueError, TypeError, KeyError, OverflowError):
                return False
            return True

        _set_options("SCIP", self.options, list(engine.getParams()), accepted)

    def add(self, constraints: Iterable[Any]) -> None:
        """Nothing: the constraints are in the model."""

    def solve(self, time_limit: float | None = None, watch: Watcher | None = None) -> Answer:
        """Solve, and put the solution into the model; ``time_limit`` in wall seconds, nothing is watched."""
        try:
            results: Any = ScipDirect().solve(
                self.model,
                time_limit=None if time_limit is None else max(time_limit, 1e-3),
                solver_options=dict(self.options),
                raise_exception_on_nonoptimal_result=False,
                load_solutions=False,
            )
        except InfeasibleConstraintException:
            return Answer(Status.INFEASIBLE, None, math.inf)
        status = _CONDITION.get(results.termination_condition, Status.ERROR)
        bound = -math.inf if results.objective_bound is None else float(results.objective_bound)
        if status is Status.INFEASIBLE:
            bound = math.inf
        objective = results.incumbent_objective
        if objective is not None:
            results.solution_loader.load_vars()
        return Answer(_worded(status, self.model), objective, bound)


def require_scip() -> Any:
    """The package of SCIP, an extra.

    Raises
    ------
    InvalidInputError
        If it is not installed.
    """
    if importlib.util.find_spec("pyscipopt") is None:
        raise InvalidInputError(
            f"SCIP is not installed: {installing('scip')}, or solve the form price by HiGHS",
            "solve_with",
        )
    import pyscipopt  # optional, so imported where it is used

    return pyscipopt


_STATUS = {
    highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: Status.UNBOUNDED,
    highspy.HighsModelStatus.kUnboundedOrInfeasible: Status.UNBOUNDED,
    highspy.HighsModelStatus.kTimeLimit: Status.TIME_LIMIT,
    highspy.HighsModelStatus.kInterrupt: Status.INTERRUPTED,
    highspy.HighsModelStatus.kSolutionLimit: Status.OTHER_LIMIT,
    highspy.HighsModelStatus.kIterationLimit: Status.OTHER_LIMIT,
}

_CONDITION = {
    TerminationCondition.convergenceCriteriaSatisfied: Status.OPTIMAL,
    TerminationCondition.provenInfeasible: Status.INFEASIBLE,
    TerminationCondition.iterationLimit: Status.OTHER_LIMIT,
    TerminationCondition.unbounded: Status.UNBOUNDED,
    TerminationCondition.infeasibleOrUnbounded: Status.UNBOUNDED,
    TerminationCondition.maxTimeLimit: Status.TIME_LIMIT,
    TerminationCondition.interrupted: Status.INTERRUPTED,
}


def _worded(status: Status, model: pyo.ConcreteModel) -> Status:
    """The optimum of a relaxation is not called optimal without that word."""
    relaxed = status is Status.OPTIMAL and is_relaxation(model)
    return Status.RELAXATION_OPTIMAL if relaxed else status


def _highs_model(form: Any) -> Any:
    """The matrices of Pyomo's compiler as HiGHS takes them."""
    rows = form.A.tocsr()
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(form.columns), rows.shape[0]
    program.col_cost_ = np.asarray(form.c.todense()).ravel()
    program.offset_ = float(form.c_offset[0])
    if form.objectives[0].sense == pyo.maximize:
        program.sense_ = highspy.ObjSense.kMaximize
    infinity = highspy.kHighsInf
    bounds = [variable.bounds for variable in form.columns]
    program.col_lower_ = np.array([-infinity if low is None else low for low, _ in bounds], dtype=float)
    program.col_upper_ = np.array([infinity if high is None else high for _, high in bounds], dtype=float)
    sides = np.array([row.bound_type for row in form.rows])
    right = np.asarray(form.rhs, dtype=float)
    program.row_lower_ = np.where(sides <= 0, right, -infinity)
    program.row_upper_ = np.where(sides >= 0, right, infinity)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = rows.indptr
    program.a_matrix_.index_ = rows.indices
    program.a_matrix_.value_ = rows.data
    program.integrality_ = [
        highspy.HighsVarType.kContinuous if variable.is_continuous() else highspy.HighsVarType.kInteger
        for variable in form.columns
    ]
    return program


def _set_options(
    solver: str,
    options: Mapping[str, Option],
    known: Sequence[str],
    accepted: Callable[[str, Option], bool],
) -> None:
    for name, value in options.items():
        if name not in known:
            near = nearest(name, known)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise InvalidInputError(f"{solver} has no such option{meant}", f"options.{name}")
        if not accepted(name, value):
            raise InvalidInputError(f"{solver} refuses the value {value!r}", f"options.{name}")
