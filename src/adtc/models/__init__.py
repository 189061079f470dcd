"""One tree as a model: it predicts on raw tables, explains itself in rules, and paints itself."""

from adtc.models.model import TreeModel
from adtc.models.nodes import Node
from adtc.models.rules import Rule
from adtc.models.walks import Step, Walk

__all__ = ["Node", "Rule", "Step", "TreeModel", "Walk"]
