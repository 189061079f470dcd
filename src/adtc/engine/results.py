"""What questions answer with: numbers, trees and tables that carry the record of their run.

An exact count is a `Count`, which is an integer; any other is a `Bracket`, which is none. Both
tell ``value``, ``lower``, ``upper``, ``estimate``, ``status``, what stopped the run and how to go
on.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from html import escape
from typing import Any

from adtc.algebra import trees
from adtc.engine.limits.bracket import Bracket, Interval
from adtc.engine.record import RunRecord, Status, log10
from adtc.errors import NotExactError


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
    def value(self) -> int:
        """Return the number."""
        return int(self)

    lower = upper = value

    @property
    def estimate(self) -> Interval | None:
        """Return None: there is nothing to estimate."""
        return None

    @property
    def status(self) -> Status:
        """Say that the number is exact."""
        return "exact"

    @property
    def log10(self) -> float | None:
        """Return the decimal logarithm, None for zero."""
        return log10(self)

    def to_json(self) -> dict[str, Any]:
        """Return the number and its status as plain JSON values."""
        return {"count": int(self), "log10": self.log10, "status": self.status}


Number = Count | Bracket


def number_of_trees(found: Bracket, record: RunRecord) -> Number:
    """Make the answer of a count: an integer only where the bounds meet; the record says it."""
    record.status = found.status
    if found.status != "exact":
        return replace(found, record=record)
    count = Count(int(found))
    count.record = record
    return count


@dataclass(frozen=True, slots=True)
class Existence:
    """Whether a tree exists, with one that does: true or false in a condition.

    Parameters
    ----------
    decided
        False if a limit stopped the run before a tree was found or excluded; a condition on it
        is then an error.
    features
        The names of the table's features, for notebooks.
    """

    tree: trees.Tree | None
    record: RunRecord
    decided: bool = True
    features: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def exists(self) -> bool | None:
        """Say whether a tree exists; None if that is not decided."""
        return (self.tree is not None) if self.decided else None

    def __bool__(self) -> bool:
        if not self.decided:
            raise NotExactError(
                "whether such a tree exists is not decided: read .exists, which is None, raise "
                "the limit, or ask for an exact answer with exact=True (--exact)."
            )
        return self.tree is not None

    def _repr_html_(self) -> str:
        found = {
            True: "such a tree exists",
            False: "no such tree exists",
            None: "not decided whether such a tree exists",
        }[self.exists]
        return _html(f"{found} ({self.record.status})", self.tree, self.record, self.features)


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best tree under a constraint; ``tree`` and ``value`` are None when none exists.

    Parameters
    ----------
    proved
        Whether no tree is better, or none exists. Otherwise the best tree found so far is here.
    bound
        A value that no good tree beats; None if that is not known. If proved, the value itself.
    features
        The names of the table's features, for notebooks.
    """

    tree: trees.Tree | None
    value: Fraction | int | None
    metrics: dict[str, Fraction | int | None]
    proved: bool
    record: RunRecord
    bound: Fraction | int | None = None
    features: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def status(self) -> Status:
        """Say whether the value is exact, or what kind of answer it is."""
        return self.record.status

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
        """Say whether the numbers are exact, bounded, estimated or partial."""
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
