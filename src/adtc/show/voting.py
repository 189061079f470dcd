"""Votes on people: what their pictures show, as plain lists; all people first, then the groups.

Groups that are too small to be shown are left out, and so are others from which they would follow.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adtc.data.columns import Scalar
from adtc.errors import QueryError
from adtc.models.small import hidden_counts
from adtc.profiles.people import VoteShares
from adtc.profiles.people.measures import EVERYBODY, Mask, People
from adtc.text import is_whole

BINS = 20


@dataclass(frozen=True, slots=True)
class VoteBins:
    """How many people have which vote share, for everybody or a group.

    Parameters
    ----------
    people
        Per bin the people in it; the last bin holds its right edge, too.
    """

    name: str
    people: tuple[int, ...]

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Per bin the share of these people."""
        whole = sum(self.people)
        return tuple(Fraction(n, whole) if whole else Fraction(0) for n in self.people)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Vote-share histograms over bins of equal width from 0 to 1; no parts where nobody votes."""

    label: str
    bins: int
    parts: tuple[VoteBins, ...]


@dataclass(frozen=True, slots=True)
class CurvePart:
    """A falling step function: from ``values[i]`` on, ``shares[i]`` of these people lie above x."""

    name: str
    values: tuple[Fraction, ...]
    shares: tuple[Fraction, ...]


def histogram_data(
    votes: VoteShares,
    label: Scalar | None = None,
    *,
    bins: int = BINS,
    by_group: bool = True,
    small: int = 0,
) -> Histogram:
    """Count the people by their vote share for a class, the positive one by default.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> good = adtc.profile(data, adtc.Space(max_depth=1), ["error"], where="error <= 1")
    >>> histogram_data(good.vote_shares(), bins=4).parts[0].people
    (0, 0, 1, 2)
    """
    if not is_whole(bins, 1):
        raise QueryError(f"bins is {bins!r}, expected a whole number of at least 1.")
    share = votes.share(label if label is not None else _first(votes))
    name = share.name.removeprefix("vote share of ")
    if not share.bottom:
        return Histogram(name, bins, ())
    places = np.minimum(share.tops * bins // share.bottom, bins - 1).astype(np.int64)
    parts = [
        VoteBins(part, _counted(places[rows], votes.people.weights[rows], bins))
        for part, rows in _parts(votes.people, by_group, small)
    ]
    return Histogram(name, bins, tuple(parts))


def disagreement_data(
    votes: VoteShares, *, by_group: bool = True, small: int = 0
) -> tuple[CurvePart, ...]:
    """Compute the share of people with p(1 − p) above x, for every x.

    Of more than two classes, (1 − Σ p²) / 2 takes its place, which is the same for two.
    """
    found = votes.expected_disagreement()
    if not found.bottom:
        return ()
    parts = []
    for name, rows in _parts(votes.people, by_group, small):
        weights = votes.people.weights[rows]
        whole = int(weights.sum())
        above: dict[Fraction, int] = {Fraction(0): 0}
        for top, weight in zip(found.tops[rows].tolist(), weights.tolist(), strict=True):
            value = Fraction(top) / Fraction(2 * found.bottom)
            above[value] = above.get(value, 0) + weight
        values, shares, left = sorted(above), [], whole
        for value in values:
            left -= above[value]
            shares.append(Fraction(left, whole) if whole else Fraction(0))
        parts.append(CurvePart(name, tuple(values), tuple(shares)))
    return tuple(parts)


def _first(votes: VoteShares) -> Scalar:
    """Choose a class to look at: the positive one, else the first."""
    return votes.labels[0 if votes.positive is None else votes.positive]


def _parts(people: People, by_group: bool, small: int) -> Iterator[tuple[str, Mask]]:
    """Yield everybody, then the groups that may be shown."""
    yield EVERYBODY, np.ones(len(people), bool)
    if by_group:
        for name in shown_groups(people, small):
            yield name, people.z == people.groups.index(name)


def shown_groups(people: People, small: int) -> list[str]:
    """Name the groups that are large enough to be shown and have people at all."""
    sizes = people.sizes
    gone = hidden_counts(list(sizes.values()), small)
    return [n for (n, size), no in zip(sizes.items(), gone, strict=True) if size and not no]


def _counted(
    places: npt.NDArray[np.int64], weights: npt.NDArray[np.int64], bins: int
) -> tuple[int, ...]:
    counts = np.zeros(bins, np.int64)
    np.add.at(counts, places, weights)
    return tuple(counts.tolist())
