"""How trees that look good on the table do on a further one: losses, counts, the worst tree.

Which table made the trees good is part of every answer: trees chosen by the test set have seen it.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from adtc.algebra.formula import names, parse
from adtc.errors import QueryError, UnknownMetricError
from adtc.profiles.bins import Edge, read_number
from adtc.profiles.profile import Profile
from adtc.profiles.writing import approximate, exact_text, grouped

if TYPE_CHECKING:
    from adtc.profiles.crosstab import Crosstab
    from adtc.profiles.marginals import Marginal
    from adtc.profiles.numbered import DrawnTree

Value = Fraction | int | None
_LESS = {"error", "fpr", "fnr", "dp", "eopp", "eodd_sum", "eodd_max", "eodd_mean"}


@dataclass(frozen=True, eq=False)
class Generalization:
    """A metric on the table itself and on a further one, over all trees of a profile.

    Parameters
    ----------
    profile
        The trees; both metrics are among its columns.
    table
        The further table.
    metric
        What is compared: more is better, but for errors and gaps.
    """

    profile: Profile
    table: str
    metric: str

    @property
    def loss(self) -> str:
        """The loss as a term over the profile's metrics: positive where the table flatters."""
        own, other = self.metric, f"{self.table}.{self.metric}"
        return f"{other} - {own}" if self.metric in _LESS else f"{own} - {other}"

    @property
    def defined_by(self) -> str:
        """Say by which table the trees are good."""
        where = self.profile.record.question.get("where")
        if where is None:
            return "none: all trees of the space"
        known = [table["name"] for table in self.profile.record.data.get("tables", ())]
        used = {name.partition(".")[0] for name in names(parse(where)) if "." in name.split("[")[0]}
        own = any("." not in name.split("[")[0] and name != "size" for name in names(parse(where)))
        tables = [self.profile.record.data["name"]] * own + [t for t in known if t in used]
        return " and ".join(tables) or "none: trees are chosen by their shape"

    @cached_property
    def marginal(self) -> "Marginal":
        """Count the trees by their loss; None where a metric is undefined."""
        return self.profile.marginal(self.loss)

    def losing_more_than(self, x: Edge) -> int:
        """Count the trees whose loss is larger than ``x``, exactly."""
        limit = read_number(x)
        return sum(n for value, n in self.marginal.defined() if value > limit)

    @property
    def largest(self) -> Value:
        """The largest loss; None if no tree has both metrics."""
        return max((value for value, _ in self.marginal.defined()), default=None)

    def worst(self) -> "DrawnTree | None":
        """Return a tree with the largest loss; None if no tree has both metrics."""
        return next(iter(self.profile.best(1, maximize=self.loss)), None)

    def crosstab(self, **options: Any) -> "Crosstab":
        """Count the trees by the metric on both tables."""
        return self.profile.crosstab(self.metric, f"{self.table}.{self.metric}", **options)

    def plot(self, **options: Any) -> Any:
        """Draw the landscape of all trees, the table against the further one."""
        return self.crosstab().plot(**options)

    def steps(self) -> list[tuple[Fraction, int]]:
        """Count the trees that lose more than 0, 0.005, 0.01, … up to the largest loss."""
        largest = self.largest
        if largest is None or largest <= 0:
            return [(Fraction(0), 0)]
        unit = Fraction(10) ** -6
        while largest / unit > 20:  # noqa: PLR2004
            unit *= 5 if str(unit.denominator).startswith("1") and unit.numerator == 1 else 2
        limits = [unit * k for k in range(int(largest / unit) + 1)]
        return [(limit, self.losing_more_than(limit)) for limit in limits]

    def to_text(self) -> str:
        """Write it in three sentences."""
        count, undefined = self.profile.total, self.marginal.as_dict().get(None, 0)
        lost = self.losing_more_than(0)
        left = f", undefined for {grouped(undefined)}" if undefined else ""
        return (
            f"{grouped(count)} trees, good by {self.defined_by}. "
            f"On {self.table}, {grouped(lost)} of them have a worse {self.metric}{left}. "
            f"The largest loss is {approximate(self.largest)}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "table": self.table,
            "metric": self.metric,
            "loss": self.loss,
            "defined_by": self.defined_by,
            "count": self.profile.total,
            "losing": self.losing_more_than(0),
            "undefined": self.marginal.as_dict().get(None, 0),
            "largest": None if self.largest is None else float(self.largest),
            "largest_exact": exact_text(self.largest),
        }


def generalization(profile: Profile, table: str = "test", *, metric: str = "acc") -> Generalization:
    """Compare a metric on the table itself with the same on a further table.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> data = data.with_table("test", adtc.Data.from_arrays([[1], [0]], [0, 0], labels=[0, 1]))
    >>> found = adtc.profile(data, adtc.Space(max_depth=1), ["acc", "test.acc"], where="acc > 0.5")
    >>> found.generalization("test").losing_more_than("0.2")
    3
    """
    found = Generalization(profile, table, metric)
    try:
        profile.term(found.loss)
    except UnknownMetricError as error:
        raise QueryError(
            f"to compare '{metric}' with '{table}.{metric}', the profile must have both: make it "
            f"with these metrics. ({error})"
        ) from None
    return found
