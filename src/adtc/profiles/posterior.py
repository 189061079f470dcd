"""Bayesian averaging over all trees of a space, and what the posterior can tell.

Leaves carry no label here but a distribution over the classes; prior, evidence and predictions are
those of Chipman, George and McCulloch (1998), summed over every tree instead of sampled.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.trees import Tree
from adtc.data import Data
from adtc.data.bits import equal_rows, take_rows
from adtc.data.frames import arrow_table
from adtc.engine.bayes.likely import LikelyTrees
from adtc.engine.bayes.mixture import Mixture, find_leaves
from adtc.engine.bayes.posterior import TreeSums, sum_over_trees
from adtc.engine.bayes.prior import Prior, PriorName, check_space, checked_prior
from adtc.engine.limits.within import Reached, deepest
from adtc.engine.monitor import Monitor
from adtc.engine.query import Space
from adtc.engine.record import RunRecord, Status, recording
from adtc.models import TreeModel
from adtc.profiles.drawing import at_least_one, seeded

__all__ = ["LikelyTree", "Posterior", "posterior"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LikelyTree:
    """A tree of a posterior; its leaves show the most probable class.

    Parameters
    ----------
    probability
        The posterior probability of the tree itself, whatever its leaves' labels.
    seed
        The seed that drew it; None if it was not drawn.
    """

    tree: Tree
    probability: float
    data: Data = field(repr=False)
    seed: int | None = None

    @property
    def model(self) -> TreeModel:
        """Make it a model: rules, pictures, predictions."""
        return TreeModel(self.tree, self.data)

    def _repr_html_(self) -> str:
        return self.model._repr_html_()


@dataclass(frozen=True, eq=False)
class Posterior:
    """All trees of a space, each with its posterior probability.

    Parameters
    ----------
    prior
        The prior, checked.
    log_evidence
        ln p(y | X): the probability of the table's labels, averaged over the trees of the space.
    log_mass
        ln Z, the prior weight of all trees of the space together: 0 for ``"bcart"`` without a bound
        on the number of leaves; for ``"flat"``, ln of the number of trees.
    inclusion
        For each source column the posterior probability that a tree tests it.
    relative_error
        A bound on the relative error of the evidence and of all other sums over trees.
    record
        What was asked, of what, under which conventions.
    """

    data: Data
    space: Space
    prior: Prior
    log_evidence: float
    log_mass: float
    inclusion: dict[str, float]
    relative_error: float
    record: RunRecord
    sums: TreeSums = field(repr=False)

    @property
    def status(self) -> Status:
        """Return ``"bounded"``: numbers are floats, and their errors have a bound.

        Or ``"partial"``: the same of a smaller depth, where a limit stopped the run.
        """
        return self.record.status

    @property
    def lost_mass(self) -> float | None:
        """Return the share of the prior outside the space, 1 − Z; None for the flat prior."""
        return None if self.prior.name == "flat" else max(0.0, -math.expm1(self.log_mass))

    @cached_property
    def best(self) -> LikelyTree:
        """Find the most probable tree (MAP) with its posterior probability."""
        return self._likely(self._trees.most_probable())

    def probability(self, tree: Tree | LikelyTree) -> float:
        """Return the posterior probability of a tree; 0 if it is not in the space.

        Labels of its leaves do not matter.
        """
        return self._trees.weight(tree.tree if isinstance(tree, LikelyTree) else tree) / (
            self.sums.weight
        )

    def draw(self, n: int = 1, *, seed: int | None = None) -> list[LikelyTree]:
        """Draw trees independently, each with its posterior probability.

        Parameters
        ----------
        seed
            The same seed draws the same trees; None takes a fresh one, which the trees tell.

        Examples
        --------
        >>> import adtc
        >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
        >>> found = adtc.posterior(data, adtc.Space(max_depth=1), alpha=0.5)
        >>> [drawn.tree for drawn in found.draw(2, seed=2)]
        [Split(feature=0, t1=Leaf(label=1), t0=Leaf(label=0)), Leaf(label=1)]
        """
        at_least_one("n", n)
        seed, rng = seeded(seed)
        return [self._likely(self._trees.draw(rng), seed) for _ in range(n)]

    def predict_proba(self, frame: object = None, *, monitor: Monitor | None = None) -> Floats:
        """Return the class probabilities of rows, averaged over all trees.

        Parameters
        ----------
        frame
            New rows with the table's feature columns, or the name of a further table (see
            `Data.with_table`); None for the table's own rows. Unseen categories and missing
            values are treated as `TreeModel.predict` treats them.
        monitor
            Progress, cancelling, limits and threads.

        Returns
        -------
        array
            ``[row, class]``, classes in the order of ``data.labels``.
        """
        if frame is None or isinstance(frame, str):
            own = self.data if frame is None else self.data.further(frame)
            bits, n_rows = own.bits, own.n_rows
        else:
            table = arrow_table(frame)
            bits, n_rows = self.data.binarize(table), table.num_rows
        watch = monitor or Monitor()
        first, group = equal_rows(bits, [], n_rows)
        found = self._leaves(watch).predict(take_rows(bits, n_rows, first), len(first), watch)
        return found[group]

    def predict(self, frame: object = None, *, monitor: Monitor | None = None) -> npt.NDArray[Any]:
        """Return the most probable class of each row; on ties the first."""
        chosen = np.argmax(self.predict_proba(frame, monitor=monitor), axis=1)
        found: npt.NDArray[Any] = np.array(self.data.labels)[chosen]
        return found

    @property
    def absolute_error(self) -> float:
        """Bound the absolute error of every class probability."""
        return self._leaves(Monitor()).error

    def __repr__(self) -> str:
        return (
            f"<Posterior of {self.data.name}: prior {self.prior.name}, log evidence "
            f"{self.log_evidence:.3f}, best tree with probability {self.best.probability:.3g}>"
        )

    @cached_property
    def _trees(self) -> LikelyTrees:
        return LikelyTrees(self.sums)

    def _likely(self, tree: Tree, seed: int | None = None) -> LikelyTree:
        return LikelyTree(tree, self.probability(tree), self.data, seed)

    def _leaves(self, monitor: Monitor) -> Mixture:
        """Return all likely leaves, found once as a cached property would be."""
        kept = vars(self)
        if "_mixture" not in kept:
            kept["_mixture"] = find_leaves(self.sums, monitor)
        found: Mixture = kept["_mixture"]
        return found


def posterior(
    data: Data,
    space: Space,
    prior: PriorName = "bcart",
    *,
    alpha: float = 0.95,
    beta: float = 0.5,
    rho: float | Sequence[float] = 2.5,
    monitor: Monitor | None = None,
) -> Posterior:
    """Average over all trees of a space, each weighted by its posterior probability.

    Parameters
    ----------
    prior
        ``"bcart"``: a node at depth d splits with probability α(1 + d)^−β, uniformly over its valid
        splits, those with ``minsup`` rows on both sides; ``"bcart-all"``: uniformly over all
        features; ``"flat"``: every tree is equally probable.
    alpha
        Above 0 and at most 1.
    beta
        At least 0.
    rho
        The Dirichlet prior of the class shares at a leaf: one number, or one for each class.
    monitor
        Progress, cancelling, limits and threads. What does not fit into the limits is answered for
        the deepest depth that does, with status ``"partial"``.

    Notes
    -----
    At the largest depth, and where no split is valid, a node is a leaf with probability 1. With
    ``"bcart-all"``, and where the space limits the number of leaves, part of the prior lies outside
    the space: probabilities are divided by the rest, Z. Trees are told apart by their tests; a leaf
    carries no label. A row of weight w counts as w rows.

    References
    ----------
    Chipman, George and McCulloch, *Bayesian CART Model Search*, JASA 93, 1998; Sullivan, Tiwari and
    Thrun, *MAPTree: Beating "Optimal" Decision Trees with Bayesian Decision Trees*, AAAI 2024.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1, 0], [1, 1], [0, 1], [0, 0]], [1, 1, 0, 0])
    >>> found = adtc.posterior(data, adtc.Space(max_depth=1), alpha=0.5)
    >>> round(found.log_evidence, 4)
    -2.9022
    >>> {name: round(p, 3) for name, p in found.inclusion.items()}
    {'f0': 0.387, 'f1': 0.198}
    >>> found.predict_proba().round(3).tolist()
    [[0.445, 0.555], [0.445, 0.555], [0.555, 0.445], [0.555, 0.445]]
    >>> found.best.tree, round(found.best.probability, 3)
    (Leaf(label=0), 0.415)
    """
    check_space(space)
    checked = checked_prior(prior, alpha, beta, rho, data.labels)
    parts = asdict(checked) | {"rho": list(checked.rho)}
    with recording(data, space, "fast", {"ask": "posterior", "prior": parts}) as record:
        record.conventions["labels"] = "no"
        record.conventions["trees"] += (
            "; a node at the largest depth, or without a valid split, is a leaf"
        )
        watch = monitor or Monitor()

        def up_to(depth: int, watch: Monitor = watch) -> TreeSums:
            return sum_over_trees(data, replace(space, max_depth=depth), checked, watch)

        def present(reached: Reached[TreeSums]) -> Posterior:
            if reached.answer is None:  # a single leaf always fits
                alone = up_to(0, Monitor(exact=True))
                reached = replace(reached, depth=0, answer=alone)
            record.status = "bounded"
            if reached.reason is not None:
                reached.note(record, watch)
                record.status = "partial"
                record.details["asked_max_depth"] = space.max_depth
                record.conventions["max_depth"] = reached.depth
            assert reached.depth is not None
            assert reached.answer is not None
            tight = replace(space, max_depth=reached.depth)
            return _averaged(data, tight, checked, record, reached.answer)

        return deepest(up_to, space.max_depth, watch, present)


def _averaged(
    data: Data, space: Space, prior: Prior, record: RunRecord, sums: TreeSums
) -> Posterior:
    """Read the posterior off the sums over all trees."""
    mass = sums.prior_mass.log
    evidence = sums.weight.log - mass
    found = Posterior(
        data, space, prior, evidence, mass, sums.inclusion, sums.relative_error, record, sums
    )
    record.details |= {
        "log_evidence": found.log_evidence,
        "log_mass": found.log_mass,
        "lost_mass": found.lost_mass,
        "relative_error": found.relative_error,
    }
    return found
