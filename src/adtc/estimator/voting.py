"""All good trees as one classifier: which trees vote, and what becomes of their votes."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Comparison, Formula, Number, all_of, parse_term
from adtc.errors import QueryError
from adtc.estimator.picking import Rule
from adtc.profiles.bins import read_number
from adtc.profiles.people import VoteShares
from adtc.profiles.people.measures import read_share

Array = npt.NDArray[Any]
VOTES = ("best", "all")


@dataclass(frozen=True, slots=True)
class Voting:
    """Who decides.

    Parameters
    ----------
    vote
        ``"best"``: the tree picked; ``"all"``: every good tree has one vote.
    tolerance
        A good tree satisfies the rule's constraint, and its objective is at most this share of the
        best value away from it; None leaves the constraint alone.
    abstain
        κ: say nothing where self-consistency is below; None always answers.
    """

    vote: str
    tolerance: Any
    abstain: Any

    def __post_init__(self) -> None:
        if self.vote not in VOTES:
            raise QueryError(f"vote is {self.vote!r}, expected one of: {', '.join(VOTES)}.")
        if self.tolerance is not None and read_number(self.tolerance) < 0:
            raise QueryError(f"tolerance is {self.tolerance}, expected a share of at least 0.")
        if self.abstain is not None:
            read_share("abstain", self.abstain)
            if self.vote != "all":
                raise QueryError("abstain needs votes to be unsure of: set vote='all'.")

    def where(self, rule: Rule, best: Fraction | int) -> Formula:
        """Write what a good tree satisfies, given the best value of the objective."""
        if self.tolerance is None:
            return rule.constraint
        limit = best + rule.sign * read_number(self.tolerance) * abs(Fraction(best))
        op = "<=" if rule.sign > 0 else ">="
        near = Comparison((parse_term(rule.term), Number(limit)), (op,))
        return all_of(rule.constraint, near)


def decided(votes: VoteShares, classes: Array, order: Array, kappa: Any) -> Array:
    """Return the class that most trees vote for, the first of several; None where they abstain.

    ``order`` has each label's place among the classes.
    """
    by_class = votes.counts[:, np.argsort(order)]
    predictions: Array = classes[by_class.argmax(axis=1)]
    if kappa is None:
        return predictions
    answers = predictions.astype(object)
    answers[votes.self_consistency().below(read_share("abstain", kappa)).rows] = None
    return answers
