"""Our half of `TreeSetClassifier`: fit by picking the best tree of all, predict with it or by vote.

The other half are scikit-learn's base classes, which are joined in the package's ``__init__``.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Formula
from adtc.algebra.trees import Tree
from adtc.data.binning import BinningOptions
from adtc.engine.monitor import Monitor, usable_cores
from adtc.engine.query import Space
from adtc.errors import DataError, QueryError, UnknownColumnError, unknown
from adtc.estimator.picking import Rule, pick
from adtc.estimator.tables import as_table, is_frame, labelled
from adtc.estimator.voting import Voting, decided
from adtc.models import TreeModel
from adtc.profiles import Profile, profile

if TYPE_CHECKING:
    from fractions import Fraction

    from adtc.engine.record import RunRecord
    from adtc.profiles.people import VoteShares

Array = npt.NDArray[Any]
_TWO = 2
_MADE_LATER = ("_profile", "_good")


class PickingMixin:
    """Take the best decision tree of all trees of bounded depth.

    Parameters
    ----------
    max_depth
        Tests on the longest path.
    min_samples_leaf
        Rows in a leaf, at least: a whole number, or a share of all rows as a float.
    max_size
        Leaves, at most; None sets no limit.
    labels
        ``"any"``: a leaf may carry every class; ``"majority"``: only the most frequent one.
    nbins, binning
        Bins per numeric column, at most, by ``"quantile"`` or of equal ``"width"``.
    optimize
        ``"min TERM"`` or ``"max TERM"``; TERM is a metric such as ``error``, ``f1`` or ``dp``, or a
        term over metrics such as ``error + 5 * size``.
    where
        A constraint that the tree must satisfy, such as ``"dp <= 0.1 and size <= 6"``.
    tie
        Among the best trees: one with the fewest leaves (``"smallest"``), the ``"first"`` found, or
        a ``"random"`` one, each with the same probability.
    positive
        The positive class of metrics such as ``f1`` and ``dp``; without it, the later of two.
    metrics
        Columns of ``profile_``.
    sensitive
        Column of X with the sensitive groups, by name (``x0``, ``x1`` … in an array without names)
        or position. It is no feature, unless ``use_sensitive``.
    types
        How to read some columns of a frame: name to ``"numeric"``, ``"category"`` or ``"ignore"``.
        A column that looks like an identifier is refused unless it is named here; in an array of
        numbers, none is.
    random_state
        Seed for ``tie="random"``.
    n_jobs
        Threads; None is one, -1 all processors.
    vote
        ``"best"``: the best tree predicts. ``"all"``: all good trees do; ``predict_proba`` is the
        exact share of them that predict each class, and ``predict`` follows the majority.
    tolerance
        Which trees are good, if they vote: those that satisfy ``where`` and whose objective is at
        most this share of its best value away from it. None: all that satisfy ``where``.
    abstain
        κ between 0 and 1: ``predict`` gives None for rows whose self-consistency, the probability
        that two different good trees agree, is below κ. None always predicts a class.

    Attributes
    ----------
    tree_, model_
        The tree picked: as a value, and as a `TreeModel` that draws and explains itself.
    value_
        What the objective is worth for it: an integer or an exact fraction.
    record_
        The run record of the search.
    profile_
        All trees that satisfy ``where``, by ``metrics``; computed when first asked for.
    good_
        The trees that vote under ``vote="all"``, as a profile.
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    X is an array of numbers, or a frame (pandas, polars, pyarrow) with numbers, truth values and
    categories. Missing values are allowed. A category not seen in ``fit`` matches no ``=`` test.
    ``sample_weight`` holds whole numbers: a row of weight 3 equals three rows.

    Examples
    --------
    >>> from adtc.estimator import TreeSetClassifier
    >>> X, y = [[20, 1], [30, 0], [40, 1], [50, 0]], ["no", "no", "yes", "yes"]
    >>> fitted = TreeSetClassifier(max_depth=1, optimize="min error").fit(X, y)
    >>> print(fitted.model_)
    x0 <= 35   (4 rows)
    ├─ yes: no   (2 rows, 100 %)
    └─ no: yes   (2 rows, 100 %)
    >>> fitted.predict([[27, 0]]).tolist(), fitted.value_, fitted.profile_.count
    (['no'], 0, 18)

    All trees with at most one error vote:

    >>> voting = TreeSetClassifier(max_depth=1, vote="all", tolerance=None, where="error <= 1")
    >>> voting.fit(X, y).predict_proba([[27, 0], [38, 0]]).round(2).tolist()
    [[0.67, 0.33], [0.33, 0.67]]
    """

    tree_: Tree
    model_: TreeModel
    value_: "Fraction | int"
    record_: "RunRecord"
    classes_: Array
    n_features_in_: int
    feature_names_in_: Array
    _columns: list[str]
    _order: Array
    _space: Space
    _profile: "Profile"
    _good: "Profile"

    def __init__(  # noqa: PLR0917 - scikit-learn's parameters may be given by position
        self,
        max_depth: int = 3,
        min_samples_leaf: int | float = 1,
        max_size: int | None = None,
        labels: Literal["any", "majority"] = "any",
        nbins: int = 7,
        binning: Literal["quantile", "width"] = "quantile",
        optimize: str = "min error",
        where: str | Formula | None = None,
        tie: Literal["smallest", "first", "random"] = "smallest",
        positive: Any = None,
        metrics: tuple[str, ...] = ("size", "acc"),
        sensitive: str | int | None = None,
        use_sensitive: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        types: Mapping[str, Literal["numeric", "category", "ignore"]] | None = None,
        vote: Literal["best", "all"] = "best",
        tolerance: float | str | None = 0.05,
        abstain: float | str | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_size = max_size
        self.labels = labels
        self.nbins = nbins
        self.binning = binning
        self.optimize = optimize
        self.where = where
        self.tie = tie
        self.positive = positive
        self.metrics = metrics
        self.sensitive = sensitive
        self.use_sensitive = use_sensitive
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.types = types
        self.vote = vote
        self.tolerance = tolerance
        self.abstain = abstain

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the best tree.

        Parameters
        ----------
        sample_weight
            How many equal rows each row stands for: whole numbers; a row of weight 0 has no say.
        """
        from sklearn.utils import check_random_state

        rule = Rule(self.optimize, self.where, self.tie)
        Voting(self.vote, self.tolerance, self.abstain)  # refuses what cannot be meant
        table, y, weights = self._checked(X, y, sample_weight)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < _TWO:
            raise DataError(
                f"y has one class only ({self.classes_.tolist()[0]!r}); two or more are needed."
            )
        options: BinningOptions = {
            "nbins": self.nbins,
            "binning": self.binning,
            "types": self.types,
        }
        data, self._order = labelled(
            table,
            codes,
            self.classes_,
            weights,
            positive=self._positive_place(),
            sensitive=self._sensitive_name(),
            use_sensitive=self.use_sensitive,
            binning=options,
            named=is_frame(X),
        )
        self._space = self._make_space()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        found = pick(rule, data, self._space, seed, self._monitor())
        assert found.tree is not None
        assert found.value is not None
        self.tree_, self.value_, self.record_ = found.tree, found.value, found.record
        self.model_ = TreeModel(found.tree, data)
        for made in _MADE_LATER:
            self.__dict__.pop(made, None)
        if self.vote == "all":
            self.good_  # noqa: B018  # made now: predicting is to change nothing
        return self

    def predict(self, X: Any) -> Array:
        """Predict the class of each row; under ``abstain``, None where good trees disagree."""
        if self.vote == "all":
            return decided(self.vote_shares(X), self.classes_, self._order, self.abstain)
        leaves = self.apply(X)
        at_leaves = np.array([leaf.label for leaf in self.model_.leaves])
        predicted: Array = self.classes_[self._order[at_leaves[leaves]]]
        return predicted

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Give each row the class shares of its leaf, or of the good trees' votes.

        Columns follow ``classes_``.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        if self.vote == "all":
            by_label = self.vote_shares(X).shares
        else:
            by_label = self.model_.predict_proba(self._table(X, reset=False))
        return by_label[:, np.argsort(self._order)]

    def vote_shares(self, X: Any) -> "VoteShares":
        """Count for each row the good trees that predict each class, exactly."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        table = self._table(X, reset=False)
        return self.good_.vote_shares(table, monitor=self._monitor())

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Find the leaf that each row reaches, numbered from the left."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return self.model_.apply(self._table(X, reset=False))

    @property
    def profile_(self) -> "Profile":
        """All trees that satisfy ``where``, by ``metrics``; computed when first asked for."""
        if "_profile" not in self.__dict__:
            self._profile = self._all(self.metrics, self.where)
        return self._profile

    @property
    def good_(self) -> "Profile":
        """The trees that vote under ``vote="all"``."""
        if "_good" not in self.__dict__:
            rule = Rule(self.optimize, self.where, self.tie)
            voting = Voting(self.vote, self.tolerance, self.abstain)
            self._good = self._all([rule.term], voting.where(rule, self.value_))
        return self._good

    def _all(self, metrics: Sequence[str], where: str | Formula | None) -> "Profile":
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        assert self.model_.data is not None
        return profile(
            self.model_.data, self._space, list(metrics), where=where, monitor=self._monitor()
        )

    def __getstate__(self) -> dict[str, Any]:
        base: Any = super()
        state: dict[str, Any] = dict(base.__getstate__())
        for made in _MADE_LATER:
            state.pop(made, None)  # large, and quickly made again
        return state

    def __sklearn_tags__(self) -> Any:
        base: Any = super()
        tags = base.__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.non_deterministic = self.tie == "random" and self.random_state is None
        return tags

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None]:
        """Check what came, and leave out the rows of weight 0."""
        from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import _check_sample_weight

        table = self._table(X, y, reset=True)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_consistent_length(table.columns[0], y)
        check_classification_targets(y)
        if sample_weight is None:
            return table, y, None
        weights = _check_sample_weight(sample_weight, table.columns[0], dtype=np.float64)
        if (weights < 0).any():
            raise DataError("a sample weight is negative; weights are whole numbers from 0 up.")
        kept = weights > 0
        if not kept.any():
            raise DataError("all sample weights are zero; at least one must be positive.")
        return table.filter(kept), y[kept], weights[kept]

    def _table(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """Check X as scikit-learn wants it and give it the column names of ``fit``."""
        from sklearn.utils.validation import validate_data

        if is_frame(X):
            validate_data(self, X, y, reset=reset, skip_check_array=True)
        elif isinstance(y, str):
            try:
                X = validate_data(self, X, reset=reset, ensure_all_finite="allow-nan")
            except ValueError as error:
                raise self._explained(X, error) from None
        else:
            X, _ = validate_data(
                self, X, y, reset=reset, ensure_all_finite="allow-nan", multi_output=True
            )
        if reset:
            names = getattr(self, "feature_names_in_", None)
            table = as_table(X, None if names is None else names.tolist())
            self._columns = table.column_names
            return table
        return as_table(X, self._columns)

    def _explained(self, X: Any, error: ValueError) -> ValueError:
        """Say which columns are expected where an array cannot hold what a frame had."""
        names = getattr(self, "feature_names_in_", None)
        if names is None or getattr(X, "dtype", np.dtype(object)).kind not in "OUS":
            return error
        return DataError(
            f"X is an array of objects, not all of them numbers, but the classifier was fitted on "
            f"a frame: give a frame with its columns {', '.join(map(str, names))}."
        )

    def _positive_place(self) -> int | None:
        if self.positive is None:
            return None
        places = np.flatnonzero(self.classes_ == self.positive)
        if len(places) != 1:
            raise DataError(unknown("class", self.positive, self.classes_.tolist()))
        return int(places[0])

    def _sensitive_name(self) -> str | None:
        if self.sensitive is None or self.sensitive in self._columns:
            return self.sensitive if self.sensitive is None else str(self.sensitive)
        place = self.sensitive
        if isinstance(place, int) and 0 <= place < len(self._columns):
            return self._columns[place]
        raise UnknownColumnError(unknown("column", place, self._columns))

    def _make_space(self) -> Space:
        rows = self.min_samples_leaf
        if isinstance(rows, bool) or not isinstance(rows, int | float | np.integer | np.floating):
            raise QueryError(
                f"min_samples_leaf is {rows!r}, expected a whole number of rows or a share of all "
                f"rows such as 0.05."
            )
        share = isinstance(rows, float | np.floating)
        return Space(
            max_depth=self.max_depth,
            minsup=1 if share else int(rows),
            relminsup=float(rows) if share else None,
            max_size=self.max_size,
            labels=self.labels,
        )

    def _monitor(self) -> Monitor:
        jobs = 1 if self.n_jobs is None else int(self.n_jobs)
        return Monitor(threads=jobs if jobs > 0 else max(1, usable_cores() + 1 + jobs))
