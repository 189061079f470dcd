"""Priors on trees and on the class shares at their leaves, checked once.

The prior of Chipman, George and McCulloch (1998): a node at depth d splits with probability
α(1 + d)^−β. Where it may not, at the largest depth or where no split is valid, it is a leaf with
probability 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from math import inf
from numbers import Real
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from adtc.engine.query import Space
from adtc.errors import QueryError, unknown

PriorName = Literal["bcart", "bcart-all", "flat"]
RULES: dict[str, int] = {"bcart": 0, "bcart-all": 1, "flat": 2}
"""How the core calls them."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Prior:
    """A prior on trees, and one on the class shares at each leaf.

    Parameters
    ----------
    name
        ``"bcart"``: a split is chosen uniformly among the valid ones; ``"bcart-all"``: among all
        features, and what falls on others is lost; ``"flat"``: every tree is equally probable.
    alpha, beta
        A node at depth d splits with probability α(1 + d)^−β; of no meaning for ``"flat"``.
    rho
        The Dirichlet prior of the class shares: one number above 0 for each class.
    """

    name: PriorName
    alpha: float
    beta: float
    rho: tuple[float, ...]

    def chances(self, max_depth: int) -> tuple[Floats, Floats]:
        """Return for each depth the probabilities of a leaf and of a split, each rounded once."""
        with localcontext() as context:
            context.prec = 60
            alpha, beta = Decimal(str(self.alpha)), Decimal(str(self.beta))
            splits = [alpha * Decimal(1 + d) ** -beta for d in range(max_depth + 1)]
            leaves = [float(1 - p) for p in splits]
        return np.array(leaves, np.float64), np.array([float(p) for p in splits], np.float64)


def checked_prior(
    name: str, alpha: float, beta: float, rho: float | Sequence[float], labels: Sequence[object]
) -> Prior:
    """Check a prior for a table with these classes."""
    known = get_args(PriorName)
    if name not in known:
        raise QueryError(unknown("prior", name, known))
    if not _is_number(alpha) or not 0 < alpha <= 1:
        raise QueryError(
            f"alpha is {alpha}, expected a probability above 0 and at most 1: that of a split at "
            f"the root."
        )
    if not _is_number(beta) or not 0 <= beta < inf:
        raise QueryError(
            f"beta is {beta}, expected a number of at least 0: the larger, the rarer are splits "
            f"far from the root."
        )
    shares = list(rho) if isinstance(rho, Sequence | np.ndarray) else [rho] * len(labels)
    if len(shares) != len(labels):
        raise QueryError(
            f"rho has {len(shares)} numbers, but the target has {len(labels)} classes "
            f"({', '.join(map(str, labels))}): give one for each, or a single one for all."
        )
    for share in shares:
        if not _is_number(share) or not 0 < share < inf:
            raise QueryError(f"rho is {share}, expected numbers above 0.")
    return Prior(name, float(alpha), float(beta), tuple(map(float, shares)))  # type: ignore[arg-type]


def check_space(space: Space) -> None:
    """Refuse spaces that say something about labels: in a posterior leaves carry none."""
    reason = "in a posterior a leaf carries no label but a distribution over the classes"
    if space.labels != "any":
        raise QueryError(f"labels is '{space.labels}', but {reason}: leave it out.")
    if space.banned or space.required or space.root or space.max_variables is not None:
        raise QueryError(
            "the space says which tests trees may have, but a prior is over all of them: drop "
            "columns from the table instead."
        )
    if not space.trivial_splits:
        raise QueryError(f"trivial_splits is False, but {reason}: leave it out.")
    if space.leaf_share:
        raise QueryError(f"min_leaf_share is {space.min_leaf_share}, but {reason}: leave it out.")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
