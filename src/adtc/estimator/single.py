"""Our half of `TreeEstimator`: one given tree behind scikit-learn's interface."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from adtc.errors import DataError
from adtc.estimator.tables import as_table, is_frame
from adtc.models import TreeModel

Array = npt.NDArray[Any]


class SingleTreeMixin:
    """One given tree as a fitted scikit-learn classifier; ``fit`` leaves it as it is.

    Parameters
    ----------
    model
        The tree with its table.

    Attributes
    ----------
    classes_
        The classes, sorted.
    feature_names_in_
        The columns of the table that became features: the order of an array's columns.
    """

    def __init__(self, model: TreeModel) -> None:
        self.model = model

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def classes_(self) -> Array:
        """The classes, sorted."""
        classes: Array = np.array(self.model.labels)[self._order]
        return classes

    @property
    def feature_names_in_(self) -> Array:
        """The columns that features look at."""
        return np.array(self.model.binarizer.columns, object)

    @property
    def n_features_in_(self) -> int:
        """The number of these columns."""
        return len(self.model.binarizer.columns)

    @property
    def _order(self) -> Array:
        return np.argsort(np.array(self.model.labels), kind="stable")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Leave the tree as it is."""
        return self

    def predict(self, X: Any) -> Array:
        """Predict the class of each row of a frame, or of an array with all columns in order."""
        return self.model.predict(self._table(X))

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Give each row the class shares of its leaf; columns follow ``classes_``."""
        return self.model.predict_proba(self._table(X))[:, self._order]

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Find the leaf that each row reaches, numbered from the left."""
        return self.model.apply(self._table(X))

    def _table(self, X: Any) -> Any:
        """Read a frame by its names and an array by its order."""
        from sklearn.utils import check_array

        if is_frame(X):
            return X
        array = check_array(X, ensure_all_finite="allow-nan")
        if array.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {array.shape[1]} columns, but the tree's table has {self.n_features_in_}: "
                f"{', '.join(self.model.binarizer.columns)}."
            )
        return as_table(array, self.model.binarizer.columns)
