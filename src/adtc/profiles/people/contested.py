"""The most contested cases: where good trees disagree most, with the features that they see."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adtc.data.bits import equal_rows, unpack
from adtc.data.columns import Scalar
from adtc.models.rules import reading
from adtc.profiles.drawing import at_least_one
from adtc.profiles.people.measures import Array, Share, divided, share_json, share_text
from adtc.profiles.writing import aligned, grouped, html_table

if TYPE_CHECKING:
    from adtc.profiles.people import VoteShares


@dataclass(frozen=True, slots=True)
class Case:
    """Rows that no tree can tell apart, and how the good trees vote on them.

    Parameters
    ----------
    rows
        Their numbers, from 0.
    people
        How many people they stand for.
    votes, shares
        Per label the number and the share of good trees.
    features
        What the trees can see of them, column by column.
    """

    rows: tuple[int, ...]
    people: int
    votes: dict[Scalar, Any]
    shares: dict[Scalar, Share]
    disagreement: Share
    features: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the case as plain JSON values."""
        return {
            "rows": list(self.rows),
            "people": self.people,
            "votes": {str(label): n for label, n in self.votes.items()},
            **share_json("disagreement", self.disagreement),
            "features": list(self.features),
        }


@dataclass(frozen=True, slots=True)
class Contested:
    """Cases, most disagreement first."""

    cases: tuple[Case, ...]

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    def __len__(self) -> int:
        return len(self.cases)

    def __getitem__(self, at: int) -> Case:
        return self.cases[at]

    def to_text(self) -> str:
        """Write one line per case, its features last."""
        if not self.cases:
            return "nobody is contested"
        lines = self._lines()
        texts = aligned([line[:-1] for line in lines]).splitlines()
        return "\n".join(f"{text}  {line[-1]}" for text, line in zip(texts, lines, strict=True))

    def _lines(self) -> list[list[str]]:
        labels = [f"share {label}" for label in self.cases[0].shares]
        lines = [["row", "people", *labels, "disagreement", "features"]]
        for case in self.cases:
            more = f" (+{len(case.rows) - 1})" if len(case.rows) > 1 else ""
            lines.append(
                [
                    f"{case.rows[0]}{more}",
                    grouped(case.people),
                    *map(share_text, case.shares.values()),
                    share_text(case.disagreement),
                    ", ".join(case.features),
                ]
            )
        return lines

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        if not self.cases:
            return "<p>Nobody is contested.</p>"
        return html_table(self._lines(), "The most contested cases")


def contested_rows(votes: "VoteShares", n: int) -> Contested:
    """Find the n most contested cases; ties go to the earlier row.

    People on whom all good trees agree are not contested, so there may be fewer.
    """
    at_least_one("n", n)
    found = votes.expected_disagreement()
    if not found.bottom:
        return Contested(())
    bits = votes.data.bits if votes.frame is None else votes.data.binarize(votes.frame)
    first, member = equal_rows(bits, [], len(votes))
    disputed = [row for row in first.tolist() if found.tops[row] > 0]
    chosen = sorted(disputed, key=lambda row: (-found.tops[row], row))[:n]
    seen = unpack(bits, len(votes))
    return Contested(
        tuple(_case(votes, np.flatnonzero(member == member[row]), seen[:, row]) for row in chosen)
    )


def _case(votes: "VoteShares", rows: Array, seen: Array) -> Case:
    row, data = int(rows[0]), votes.data
    literals = list(zip(data.features, seen.astype(bool).tolist(), strict=True))
    may_miss = frozenset(f.column for f in data.features if f.test == "missing")
    own = dict(zip(votes.labels, votes.counts[row].tolist(), strict=True))
    found = votes.expected_disagreement()
    return Case(
        rows=tuple(rows.tolist()),
        people=int(votes.people.weights[rows].sum()),
        votes=own,
        shares={label: divided(n, votes.total) for label, n in own.items()},
        disagreement=divided(found.tops[row], found.bottom),
        features=reading(literals, may_miss),
    )
