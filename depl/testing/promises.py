"""The error of `depl.testing`."""

from depl.models.foundation.errors import DeplError


class BrokenPromiseError(DeplError, AssertionError):
    """Something that holds for every method, or for every law, does not hold for this one.

    Attributes
    ----------
    relation : str
        Which one.
    problem : Problem or None
        Where it does not hold; None for a law.
    """

    def __init__(self, who: str, relation: str, found: str, problem: object = None) -> None:
        self.relation, self.problem = relation, problem
        where = "" if problem is None else f", on {problem}"
        super().__init__(f"{who} breaks {relation!r}{where}: {found}")
