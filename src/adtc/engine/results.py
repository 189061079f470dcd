"""What questions answer with: numbers, trees and tables that carry the record of their run."""

from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import Any

from adtc.algebra import trees
from adtc.engine.record import RunRecord, Status, log10


class Count(int):
    """A number of trees: an ordinary integer that also carries its run record.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> n = adtc.count(data, adtc.Space(max_depth=1))
    >>> n, n.status
    (6, 'exact')
    """

    record: RunRecord

    @property
    def status(self) -> Status:
        """Say whether the number is exact, bounded or estimated."""
        return self.record.status

    @property
    def log10(self) -> float | None:
        """Return the decimal logarithm, None for zero."""
        return log10(self)


@dataclass(frozen=True, slots=True)
class Existence:
    """Whether a tree exists, with one that does: true or false in a condition.

    Parameters
    ----------
    features
        The names of the table's features, for notebooks.
    """

    tree: trees.Tree | None
    record: RunRecord
    features: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.tree is not None

    def _repr_html_(self) -> str:
        found = "such a tree exists" if self else "no such tree exists"
        return _html(f"{found} ({self.record.status})", self.tree, self.record, self.features)


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best tree under a constraint; ``tree`` and ``value`` are None when none exists.

    Parameters
    ----------
    features
        The names of the table's features, for notebooks.
    """

    tree: trees.Tree | None
    value: Fraction | int | None
    metrics: dict[str, Fraction | int | None]
    proved: bool
    record: RunRecord
    features: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def _repr_html_(self) -> str:
        proof = f"{self.record.status}, {'proved' if self.proved else 'not proved'}"
        best = [f"{name} = {_number(value)}" for name, value in self.metrics.items()]
        head = ", ".join(best) if best else "no tree satisfies the constraint"
        return _html(f"{head} ({proof})", self.tree, self.record, self.features)


class ModelTensor(dict[tuple[Any, ...], Any]):
    """The model behaviour tensor: an ordinary dictionary that also carries its run record.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> tensor = adtc.model_tensor(data, adtc.Space(max_depth=0), ["error"])
    >>> tensor, tensor.status, tensor.record.num_cells
    ({(1,): 1, (2,): 1}, 'exact', 2)
    """

    record: RunRecord

    @property
    def status(self) -> Status:
        """Say whether the numbers are exact, bounded or estimated."""
        return self.record.status


def _html(head: str, tree: trees.Tree | None, record: RunRecord, names: tuple[str, ...]) -> str:
    """Write an answer for notebooks, from its record and the names of the features."""
    rules = [] if tree is None else trees.rules(tree, names or None, record.data["labels"])
    items = "".join(f"<li><code>{escape(rule)}</code></li>" for rule in rules)
    where = record.question.get("where")
    about = f"{record.data['name']}, {record.data['rows']:,} rows" + (f"; {where}" if where else "")
    return f"<p><strong>{escape(head)}</strong><br><small>{escape(about)}</small></p>" + (
        f"<ul>{items}</ul>" if items else ""
    )


def _number(value: Fraction | int | None) -> str:
    if value is None:
        return "undefined"
    return str(value) if value.denominator == 1 else f"{float(value):.4f} ({value})"
