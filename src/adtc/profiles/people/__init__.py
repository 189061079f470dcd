"""What all good trees together say about people: exact votes per row, and what follows from them.

G is the set of good trees, V their number, V_c how many of them predict class c for a person. Every
tree of G has one vote, or under Gibbs weights exp(−β · (error − least error)) of one, in floats.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Formula
from adtc.data import Data, Scalar
from adtc.data.coding import MISSING, find_value, row_weights
from adtc.data.columns import format_scalar
from adtc.data.frames import arrow_table, column
from adtc.engine.monitor import Monitor
from adtc.engine.record import RunRecord, Status
from adtc.errors import QueryError
from adtc.profiles.bins import Edge
from adtc.profiles.marginals import Plottable
from adtc.profiles.people.baselines import Baseline, baseline_codes, baseline_name
from adtc.profiles.people.contested import Contested, contested_rows
from adtc.profiles.people.measures import (
    EVERYBODY,
    Array,
    People,
    PeopleShare,
    PersonMeasure,
    Share,
    read_share,
    share_text,
)
from adtc.profiles.people.table import people_table, write_people
from adtc.profiles.people.voting import votes_of
from adtc.profiles.profile import Profile
from adtc.profiles.writing import aligned, grouped, html_table

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False, repr=False)
class VoteShares(Plottable):
    """How all good trees vote on each row.

    Parameters
    ----------
    counts
        ``[row, label]``: the number of good trees that predict this label for this row, as Python
        integers; floats under Gibbs weights.
    total
        V, the number of good trees (the sum of their weights).
    labels
        The classes, in the order of ``counts``.
    positive
        Position of the positive class; None of several classes without one.
    people
        Weights and sensitive groups of the rows.
    record
        What was asked, of which good trees, under which conventions.
    """

    counts: Array
    total: int | float
    labels: tuple[Scalar, ...]
    positive: int | None
    people: People
    record: RunRecord
    data: Data
    frame: "pa.Table | None" = None

    @property
    def status(self) -> Status:
        """Say whether the numbers are exact, bounded or estimated."""
        return self.record.status

    @property
    def exact(self) -> bool:
        """Tell whether votes are whole numbers; under Gibbs weights they are floats."""
        return self.counts.dtype == object

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def label_texts(self) -> tuple[str, ...]:
        """The classes as text."""
        return tuple(map(format_scalar, self.labels))

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """The vote shares as floats, ``[row, label]``; NaN where nobody votes."""
        columns = [self.share(label).floats for label in self.labels]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self), 0))

    def share(self, label: Scalar | None = None) -> PersonMeasure:
        """Return each person's vote share p: the share of good trees that predict a class.

        Parameters
        ----------
        label
            The class; the positive one by default.

        Examples
        --------
        >>> import adtc
        >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
        >>> votes = adtc.profile(data, adtc.Space(max_depth=1), ["error"]).vote_shares()
        >>> votes.total, votes.share().values
        (6, (Fraction(1, 2), Fraction(1, 2), Fraction(1, 2)))
        """
        place = self._place(label)
        name = f"vote share of {self.label_texts[place]}"
        return self._measure(name, "V_c / V", self.counts[:, place], self.total)

    def variance(self, label: Scalar | None = None) -> PersonMeasure:
        """Return the variance p(1 − p) of the vote for a class, the positive one by default."""
        own = self.counts[:, self._place(label)]
        return self._measure(
            "variance", "p(1 − p)", own * self._against(self._place(label)), self.total**2
        )

    def conflict(self, baseline: Baseline) -> PersonMeasure:
        """Return the conflict ratio: the share of good trees that decide against a baseline.

        Parameters
        ----------
        baseline
            What was decided: the name of a reference column (or the target), a tree, or one
            prediction per row.
        """
        codes = baseline_codes(baseline, self.data, self.frame)
        other = np.arange(len(self.labels)) != codes[:, None]
        against = np.where(other, self.counts, 0 * self.counts).sum(axis=1)
        name = f"conflict with {baseline_name(baseline)}"
        return self._measure(name, "(V − V_h0) / V", against, self.total)

    def ambiguity(self, baseline: Baseline, delta: Edge = 0) -> PeopleShare:
        """Find the people whose conflict ratio with a baseline exceeds δ.

        With δ = 0 they are those whose decision some good tree reverses: the ambiguity of Marx et
        al. (2020).
        """
        limit = read_share("delta", delta)
        found = self.conflict(baseline).above(limit)
        return replace(found, name=f"{limit}-ambiguity against {baseline_name(baseline)}")

    def disputed(self) -> PeopleShare:
        """Find the people on whom not all good trees agree."""
        return replace(self.expected_disagreement().above(0), name="disputed")

    def self_consistency(self) -> PersonMeasure:
        """Return the probability that two different good trees agree on a person; 1 if V = 1.

        Notes
        -----
        Over G, where papers take models of bootstrap samples. Under Gibbs weights: two trees drawn
        with repetition.
        """
        if not self.exact:
            return self._measure(
                "self-consistency", "Σ p_c²", (self.counts**2).sum(axis=1), self.total**2
            )
        formula = "Σ V_c(V_c − 1) / V(V − 1)"
        if self.total == 1:
            one = np.full(len(self), 1, object)
            return self._measure("self-consistency", formula, one, 1)
        agreeing = (self.counts * (self.counts - 1)).sum(axis=1)
        return self._measure("self-consistency", formula, agreeing, self.total * (self.total - 1))

    def abstain(self, kappa: Edge) -> "Abstention":
        """Decide by the majority of G, but abstain where self-consistency is below κ.

        Ties go to the earlier label.
        """
        limit = read_share("kappa", kappa)
        unsure = self.self_consistency().below(limit)
        labels: Array = np.array([*self.labels, None], object)
        codes = self.counts.argmax(axis=1) if len(self.labels) else np.zeros(len(self), int)
        gone = np.ones(len(self), bool) if unsure.marked is None else unsure.marked
        decisions = labels[np.where(gone, len(self.labels), codes)]
        name = f"abstained below {limit}"
        return Abstention(name, unsure.marked, self.people, tuple(decisions.tolist()))

    def expected_disagreement(self, with_repetition: bool = True) -> PersonMeasure:
        """Return the probability that two good trees disagree on a person.

        Parameters
        ----------
        with_repetition
            Whether the two may be the same tree: 1 − Σ p_c², which is 2p(1 − p) for two classes.
            Without, they are different: 1 − self-consistency.
        """
        agreeing = (self.counts**2).sum(axis=1)
        differing = self.total**2 - agreeing
        if with_repetition:
            formula = "1 − Σ p_c²"
            return self._measure("disagreement", formula, differing, self.total**2)
        if not self.exact:
            raise QueryError(
                "under Gibbs weights two trees are drawn with repetition: leave out "
                "with_repetition=False."
            )
        formula = "(V² − Σ V_c²) / V(V − 1)"
        name = "disagreement without repetition"
        pairs = self.total * (self.total - 1) if self.total != 1 else 1  # one tree agrees
        return self._measure(name, formula, differing, pairs)

    def contested(self, n: int = 10) -> Contested:
        """Return the most contested cases with their features named: most disagreement first."""
        return contested_rows(self, n)

    @cached_property
    def table(self) -> "pa.Table":
        """One line per row: its group, weight, and per class votes and share.

        Notes
        -----
        Votes are decimal strings, as everywhere, and shares floats; the metadata hold the run
        record. The rows keep their order, and their numbers from 0 are the column ``row``.
        """
        return people_table(self)

    def write(self, path: "str | PathLike[str]", *, monitor: Monitor | None = None) -> None:
        """Write the table as CSV or Parquet, by the ending of the name.

        Of a streamed table, whose equal rows are merged, every row is written as it was read: one
        more pass over the table, batch by batch.
        """
        write_people(self, path, monitor)

    def summary(self) -> dict[str, "PersonMeasure | PeopleShare"]:
        """Return what one looks at first, by name."""
        found: dict[str, PersonMeasure | PeopleShare] = {}
        if self.positive is not None:
            share = self.share()
            found[share.name] = share
        found["self-consistency"] = self.self_consistency()
        found["disagreement"] = self.expected_disagreement()
        found["disputed"] = self.disputed()
        return found

    def to_text(self) -> str:
        """Write a line for everybody and one per group."""
        return f"{self.headline}\n{aligned(self.lines())}"

    def to_json(self) -> dict[str, Any]:
        """Return votes and summary as plain JSON values."""
        by_label = [self.counts[:, at].tolist() for at in range(len(self.labels))]
        return {
            "total": self.total,
            "positive": None if self.positive is None else by_label[self.positive],
            "labels": list(self.label_texts),
            "votes": by_label,
            "summary": {name: found.to_json() for name, found in self.summary().items()},
        }

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<VoteShares: {self.headline}{self._part}>"

    def _repr_html_(self) -> str:
        return html_table(self.lines(), f"{self.headline}{self._part}")

    @property
    def _part(self) -> str:
        return "" if self.status == "exact" else f" ({self.record.status_text})"

    @property
    def headline(self) -> str:
        """Say how many trees vote on how many rows."""
        rows = f"{len(self):,} row{'s' * (len(self) != 1)}"
        people = "" if self.people.count == len(self) else f" ({self.people.count:,} people)"
        if not self.total:
            return f"no tree is good, so nobody votes on the {rows}{people}"
        if not self.exact:
            return f"good trees vote with Gibbs weights on {rows}{people}"
        trees = (
            "1 good tree votes"
            if self.total == 1
            else f"{grouped(int(self.total))} good trees vote"
        )
        return f"{trees} on {rows}{people}"

    def lines(
        self, found: "Mapping[str, PersonMeasure | PeopleShare] | None" = None
    ) -> list[list[str]]:
        """Lay out measures as a table: a head, a line for everybody, and one per group."""
        found = self.summary() if found is None else found
        sizes = {EVERYBODY: self.people.count, **self.people.sizes}
        lines = [[self.people.sensitive or "", "people", *found]]
        columns: list[Mapping[str, Share]] = [
            {EVERYBODY: one.overall, **one.by_group} for one in found.values()
        ]
        for name, size in sizes.items():
            lines.append([name, grouped(size), *(share_text(values[name]) for values in columns)])
        return lines

    def _place(self, label: Scalar | None) -> int:
        if label is not None:
            return find_value("label", label, self.labels)
        if self.positive is None:
            raise QueryError(
                f"the target has {len(self.labels)} classes and none was named as positive: name "
                f"the one to look at, label=…, of {', '.join(self.label_texts)}."
            )
        return self.positive

    def _against(self, place: int) -> Array:
        """Count the votes for all other classes; a difference of floats would be inexact."""
        others: Array = np.delete(self.counts, place, axis=1).sum(axis=1)
        return others

    def _measure(self, name: str, formula: str, tops: Array, bottom: float) -> PersonMeasure:
        return PersonMeasure(name, formula, tops, bottom, self.people)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Abstention(PeopleShare):
    """The people on whom no decision is made, and what the majority of G says of all others.

    Parameters
    ----------
    decisions
        Per row the label, None for those who abstain, and for everybody where nobody votes.
    """

    decisions: tuple[Scalar | None, ...] = ()


def vote_shares(
    profile: Profile,
    frame: object = None,
    *,
    where: str | Formula | None = None,
    gibbs: float | None = None,
    monitor: Monitor | None = None,
) -> VoteShares:
    """Count, for every row and class, the good trees that predict this class for this row.

    Parameters
    ----------
    frame
        New rows, as `TreeModel.predict` takes them; by default those of the profile's table.
    where
        Only the trees that satisfy a formula over the profile's metrics vote.
    gibbs
        β of Gibbs weights exp(−β · (error − least error)); by default every good tree has one vote.

    Notes
    -----
    Nothing is listed and nothing is drawn: one pass back over the circuit, exact whatever the
    number of trees.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.load_dataset("german-credit", nbins=2)
    >>> space = adtc.Space(max_depth=2, relminsup=0.2)
    >>> profile = adtc.profile(data, space, ["acc"], where="acc > 0.7")
    >>> votes = profile.vote_shares()
    >>> votes.total, votes.share("bad").values[1]
    (5, Fraction(1, 5))
    """
    started = time.perf_counter()
    data = profile.need_source("counting votes").data
    table = None
    if isinstance(frame, Data):
        data = frame  # with the same features, or votes_of says that it has others
    elif frame is not None:
        frame = table = arrow_table(frame)
    votes = votes_of(profile, where=where, frame=frame, gibbs=gibbs, monitor=monitor)
    people = people_of(data) if table is None else people_in(table, data)
    asked = {
        "ask": "votes",
        "votes_where": None if where is None else str(where),
        "gibbs": gibbs,
        "rows": None if frame is None else len(votes.counts),
    }
    record = replace(
        profile.record,
        question=profile.record.question | {k: v for k, v in asked.items() if v is not None},
        details=dict(profile.record.details),
        seconds=profile.record.seconds + time.perf_counter() - started,
    )
    return VoteShares(
        votes.counts, votes.total, data.labels, data.positive, people, record, data, table
    )


def people_of(data: Data) -> People:
    """Return the rows of a table as people."""
    return People(data.weights, data.z, tuple(map(format_scalar, data.groups)), data.sensitive)


def people_in(table: "pa.Table", data: Data) -> People:
    """Return new rows as people.

    Weights and groups are those of the columns that the first table had; rows without them count
    once, and a group that was not seen before is one of its own.
    """
    recipe, n_rows = data.binarizer, table.num_rows
    weights = np.ones(n_rows, np.int64)
    if recipe.weights is not None and recipe.weights in table.column_names:
        weights = row_weights(column(table, recipe.weights, recipe.na))
    coding = recipe.sensitive
    if coding is None or coding.column not in table.column_names:
        return People(weights, np.zeros(n_rows, np.int32))
    values = column(table, coding.column, recipe.na)
    codes = coding.codes(values).astype(np.int32)
    names = list(map(format_scalar, coding.values))
    texts = [*map(format_scalar, values.values.tolist()), MISSING]
    new = sorted({texts[code] for code in values.codes[codes < 0].tolist()})
    places = {name: len(names) + at for at, name in enumerate(new)}
    for row in np.flatnonzero(codes < 0).tolist():
        codes[row] = places[texts[values.codes[row]]]
    return People(weights, codes, (*names, *new), coding.column)
