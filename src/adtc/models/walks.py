"""One row followed down a tree: the tests it passes, their outcomes, and its leaf."""

from dataclasses import dataclass

from adtc.data import Scalar
from adtc.models.rules import Rule


@dataclass(frozen=True, slots=True)
class Step:
    """One test on the way: what the row has in the column, and whether it passes."""

    node: int
    feature: str
    column: str
    value: Scalar | None
    outcome: bool

    def __str__(self) -> str:
        value = "missing" if self.value is None else self.value
        return f"{self.feature}? {'yes' if self.outcome else 'no'} ({self.column}: {value})"


@dataclass(frozen=True, slots=True)
class Walk:
    """The way of one row, and the rule of the leaf that it reaches."""

    steps: tuple[Step, ...]
    node: int
    rule: Rule

    @property
    def label(self) -> Scalar:
        """Return the label predicted for the row."""
        return self.rule.label

    @property
    def nodes(self) -> tuple[int, ...]:
        """List the nodes passed, root first and leaf last."""
        return (*(step.node for step in self.steps), self.node)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.steps), f"so: {self.label}   ({self.rule.text})"])
