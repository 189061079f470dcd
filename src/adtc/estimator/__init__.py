"""The scikit-learn interface: a classifier that picks one of all trees, and any tree as one.

scikit-learn is optional: its base classes are looked for when a class is asked for, not before.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

from adtc.errors import ADTCError
from adtc.estimator.classifier import PickingMixin
from adtc.estimator.single import SingleTreeMixin
from adtc.models import TreeModel

if TYPE_CHECKING:
    TreeSetClassifier = PickingMixin
    TreeEstimator = SingleTreeMixin

__all__ = ["TreeEstimator", "TreeSetClassifier", "as_estimator"]


def as_estimator(model: TreeModel) -> "TreeEstimator":
    """Wrap a tree as a fitted scikit-learn classifier.

    Examples
    --------
    >>> from adtc.algebra.trees import Leaf, Split
    >>> from adtc.data import Data
    >>> data = Data.from_frame({"age": [20, 30, 40], "y": ["no", "yes", "yes"]}, target="y")
    >>> estimator = as_estimator(TreeModel(Split(0, Leaf(0), Leaf(1)), data))
    >>> estimator.predict([[18], [65]]).tolist()
    ['no', 'yes']
    """
    made: TreeEstimator = __getattr__("TreeEstimator")(model)
    return made


def __getattr__(name: str) -> Any:
    # Pickle finds the classes here, too: by module and name.
    if name in ("TreeEstimator", "TreeSetClassifier"):
        return _join_bases(name)
    raise AttributeError(f"module 'adtc.estimator' has no attribute '{name}'")


@cache
def _join_bases(name: str) -> type:
    """Put one of our halves and scikit-learn's base classes together."""
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin
    except ImportError as error:
        raise ADTCError(f"{name} needs scikit-learn: pip install 'adtc[sklearn]'.") from error
    half = PickingMixin if name == "TreeSetClassifier" else SingleTreeMixin
    body = {"__module__": __name__, "__qualname__": name, "__doc__": half.__doc__}
    return type(name, (half, ClassifierMixin, BaseEstimator), body)
