"""What a run will need, foreseen from pilot runs: each makes the tensors of one first test.

A pilot visits the paths that have its feature, so a path of k literals belongs to k of all pilots.
A few features are chosen, with larger chances where more trees may be; what a pilot finds stands
for as many as its chance says (Horvitz and Thompson). At the root pilots fill cells in common: in
how many of them cells occur tells how many there are in all (Chao).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.engine.bounds import Outside, outside_pass
from adtc.engine.circuit import tensor_inputs
from adtc.engine.exact.limbs import total_of
from adtc.engine.forecast.estimate import ceiling, frequencies
from adtc.engine.forecast.pricing import (
    Forecast,
    held_bytes,
    last_seconds,
    patience,
    reading_seconds,
)
from adtc.engine.lattice import path_counts
from adtc.engine.levels import made_levels, made_root
from adtc.engine.monitor import Monitor
from adtc.engine.plan.keys import key_words
from adtc.engine.prepare import Prepared
from adtc.engine.tensors import Piece, joined, level_of
from adtc.errors import LimitError

Array = npt.NDArray[Any]
# seconds are those of the machine of `pricing`
_SECONDS, _BYTES = 1.5, 5 * 10**8  # for pilots, and for a few of their roots together
_FIRST = 0.5  # seconds for one pilot: with fewer in all they tell little
_LONG = 30.0  # seconds of a run's last level alone: that it takes long is known without pilots
_SOON = 0.5  # seconds after which some pilots are enough
_LEAST, _ENOUGH, _MOST = 2, 8, 16  # pilots
_TOGETHER = 3  # pilots whose roots are made once more, in one
_ONCE = 0.9  # share of a root's time that is not for products, at most
_FEW = 100  # cells of all pilots: the number of all is hardly known
_KEYS = 2**17  # of a pilot that are compared with those of others, about
_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)


@dataclass(frozen=True, slots=True)
class Size:
    """How large the tensors of a level are, and what they took."""

    cells: int
    bytes: int
    pairs: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Pilot:
    """What one first test needed.

    Parameters
    ----------
    chance
        With which it was chosen.
    sizes
        Of the levels, root first.
    keys, bits
        The keys of the root's cells as words: one of 2^bits.
    below
        The tensors on both sides of the test; None once others are larger, which tell more.
    """

    feature: int
    chance: float
    sizes: tuple[Size, ...]
    trees: float
    keys: Array
    bits: int
    below: Piece | None


def foreseen_by_pilots(
    prepared: Prepared, outside: Outside, limits: Sequence[int], monitor: Monitor
) -> Forecast | None:
    """Foresee the tensors of all levels; None if pilots would take too long, or cannot be made."""
    levels, n = prepared.lattice.levels, prepared.lattice.features
    if not outside.live[0] or not levels:
        return None
    last = last_seconds(n, outside.live_paths[-1])
    if last > _LONG or levels / n * last > _FIRST * patience():
        return None
    top = ceiling(prepared, outside)
    bounds = np.zeros(2 * n)
    bounds[outside.live[1 : 1 + 2 * n]] = np.minimum(top.by_size(1).sum(axis=1), 1e300)
    pilots = _Pilots(prepared, outside, np.array(limits, np.int64), bounds.reshape(n, 2), monitor)
    made = pilots.made()
    monitor.check()
    return pilots.extrapolated(made, top.cells) if made else None


def seconds_at_least(outside: Outside, features: int) -> float:
    """Return what a run takes whose pilots took too long, or would."""
    levels = len(outside.live_paths) - 1
    last = last_seconds(features, outside.live_paths[-1])
    first = _FIRST * patience() * features / max(1, levels)
    return max(last, first) if levels and last <= _LONG else last


def chosen_features(chances: Array, most: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Choose so many with given chances, spread evenly over large and small ones.

    Returns the chosen ones in random order, and with which probability each of all was chosen.

    Examples
    --------
    >>> chosen, included = chosen_features(np.array([0.1, 0.6, 0.3]), 2, np.random.default_rng(1))
    >>> sorted(chosen.tolist()), included.round(9).tolist()
    ([1, 2], [0.25, 1.0, 0.75])
    """
    most = min(most, int((chances > 0).sum()))
    sure = np.zeros(len(chances), bool)
    while True:  # who would be chosen more than once is chosen for sure
        rest = np.where(sure, 0.0, chances)
        included = np.where(sure, 1.0, rest * (most - sure.sum()) / max(rest.sum(), 1e-300))
        if not (included > 1).any():
            break
        sure |= included > 1
    order = np.argsort(included, kind="stable")
    ends = np.round(np.append(0.0, np.cumsum(included[order])), 9) - rng.random()
    chosen: Array = order[np.diff(np.floor(ends)) > 0]
    return rng.permutation(chosen), included


def cells_of_all(common: Array, pilots: int, features: float) -> float:
    """Estimate how many cells all features fill, from how many pilots each cell seen occurred in.

    Chao's estimator (1987) of all kinds there are, as far as the other features reach it.

    Examples
    --------
    >>> cells_of_all(np.array([2, 2, 2]), 2, 40)
    3.0
    >>> cells_of_all(np.array([1, 1, 1, 2]), 2, 2)
    4.0
    """
    once, twice = int((common == 1).sum()), int((common == 2).sum())  # noqa: PLR2004
    unseen = (1 - 1 / max(pilots, 1)) * once * (once - 1) / (2 * (twice + 1))
    missed = (1 - once / max(pilots * unseen + once, 1.0)) ** max(0.0, features - pilots)
    return float(len(common) + unseen * (1 - missed))


def between_ends(common: Array, least: float, most: float) -> float:
    """Choose a number between both ends where too few cells were seen to tell how many are shared.

    The more of them occurred once only, the farther from the lower end, Chao's, in logarithms.

    Examples
    --------
    >>> between_ends(np.array([2, 2, 2]), 3, 300)
    3.0
    >>> round(between_ends(np.array([1, 1, 1]), 3, 300), 9)
    30.0
    >>> between_ends(np.ones(1000), 1000, 3000)
    1000.0
    """
    if not 0 < len(common) < _FEW:
        return float(least)
    once = int((common == 1).sum()) / len(common)
    return float(least * (most / least) ** (once / 2))


@dataclass(frozen=True, slots=True)
class _Pilots:
    """The pilots of a question; ``bounds`` has at most so many trees for each side of each test."""

    prepared: Prepared
    outside: Outside
    limits: Array
    bounds: Array
    monitor: Monitor

    @property
    def possible(self) -> Array:
        """Tell which features can be the first test."""
        found: Array = np.all(self.bounds > 0, axis=1)
        return found

    def _watch(self, seconds: float) -> Monitor:
        """Allow little time, and less if there is a limit."""
        left = self.monitor.time_left
        return Monitor(
            time_limit=seconds * patience() if left is None else min(seconds, left / 3),
            memory_limit=min(_BYTES, self.monitor.memory // 4),  # some pilots' tensors are kept
            threads=1,
            exact=True,
        )

    def made(self) -> list[Pilot]:
        """Make pilots as long as there is time; none if there are too few of them."""
        ones, zeros = np.sqrt(self.bounds.T) * self.possible
        # levels below the root hold the trees of both sides, the root their products within budget
        guesses = (self.possible, np.hypot(ones, zeros), ones * zeros * self._slack())
        chances = np.mean([guess / max(guess.sum(), 1e-300) for guess in guesses], axis=0)
        chosen, included = chosen_features(chances, _MOST, np.random.default_rng(0))
        pilots: list[Pilot] = []
        watch, start = self._watch(_SECONDS), time.monotonic()
        for feature in chosen.tolist():
            if len(pilots) >= _ENOUGH and time.monotonic() - start > _SOON * patience():
                break
            try:
                pilots.append(
                    self._pilot(
                        feature, included[feature], watch if pilots else self._watch(_FIRST)
                    )
                )
            except LimitError:
                break
            pilots = _with_largest(pilots)
        if len(pilots) < min(_LEAST, len(chosen)):
            return []
        # those that time was too short for were left out by chance
        return [replace(p, chance=p.chance * len(pilots) / len(chosen)) for p in pilots]

    def _slack(self) -> Array:
        """Tell how much of the budgets is left where both sides of a test cost least, up to 1."""
        literals = self.prepared.inside.least[:, 1 : 1 + 2 * len(self.bounds)]
        least = literals[:, ::2] + literals[:, 1::2]
        left = np.where(self.possible, self.outside.budgets[0][:, None] - least + 1.0, 0.0)
        shares: Array = np.prod(left / np.maximum(left.max(axis=1, keepdims=True), 1.0), axis=0)
        return shares

    def _pilot(self, feature: int, chance: float, watch: Monitor) -> Pilot:
        """Make the tensors of trees with one first test."""
        live = self._live([feature])
        inputs = tensor_inputs(self.prepared, replace(self.outside, live=live), self.limits)
        sizes, pieces, start = [], [], time.process_time()
        for piece in made_levels(inputs, watch):
            seconds = time.process_time() - start
            sizes.append(Size(len(piece.keys), piece.nbytes, int(piece.scanned[0]), seconds))
            pieces.append(piece)
            start = time.process_time()
        root, below = pieces[-1], pieces[-2]
        bits = max(0, (len(root.keys) // _KEYS).bit_length())
        keys = thinned(key_words(root.keys), bits)
        trees = float(min(total_of(root.values), 10**300))
        return Pilot(feature, chance, tuple(sizes[::-1]), trees, keys, bits, below)

    def _live(self, features: Sequence[int]) -> Array:
        """Leave the paths live that have one of these features, and the root."""
        first = np.isin(np.arange(self.prepared.lattice.features), features)
        free = replace(self.prepared.inside, least=np.zeros((0, len(self.outside.live)), np.int64))
        none = np.zeros(0, np.int64)
        reached = outside_pass(self.prepared.lattice, free, none, self.monitor, first=first)
        return np.logical_and(reached.live, self.outside.live)

    def extrapolated(self, pilots: Sequence[Pilot], most_cells: Sequence[float]) -> Forecast:
        """Say what all features need from what those of the pilots did."""
        features, below = int(self.possible.sum()), range(1, len(most_cells))
        n = self.prepared.lattice.features

        def total(what: str, level: int) -> float:
            # so many of the features of a path can be the first test
            pilots_each = 1 + (level - 1) * (features - 1) / max(n - 1, 1) if level else 1
            found = sum(getattr(pilot.sizes[level], what) / pilot.chance for pilot in pilots)
            return float(found) / pilots_each

        bits = max(pilot.bits for pilot in pilots)
        common = frequencies(np.concatenate([thinned(pilot.keys, bits) for pilot in pilots]))
        filled = [pilot for pilot in pilots if pilot.sizes[0].cells]
        root = 2**bits * cells_of_all(common, len(filled), sum(1 / p.chance for p in filled))
        most = total("cells", 0)
        root = min(root, most)
        if len(pilots) < features:
            root = between_ends(common, root, most)
        cells = [root, *(total("cells", level) for level in below)]
        cells = [min(found, most) for found, most in zip(cells, most_cells, strict=True)]
        trees = sum(pilot.trees / pilot.chance for pilot in pilots)
        return Forecast(
            trees=trees,
            cells=tuple(cells),
            most_cells=most_cells[0],
            pairs=sum(total("pairs", level) for level in (0, *below)),
            memory=held_bytes(
                self.prepared.plan, trees, cells[0], sum(total("bytes", level) for level in below)
            ),
            seconds=sum(total("seconds", level) for level in below)
            + self._root_seconds(pilots, total("pairs", 0))
            + reading_seconds(cells[0]),
        )

    def _root_seconds(self, pilots: Sequence[Pilot], pairs: float) -> float:
        """Foresee the root's time: part of what pilots took is not for products, but for each root.

        A few of them are made again as one, which has that part only once.
        """
        some = [pilot for pilot in pilots if pilot.below is not None]
        apart = sum(pilot.sizes[0].seconds for pilot in some)
        few = max(1, sum(pilot.sizes[0].pairs for pilot in some))
        live = self._live([pilot.feature for pilot in some])
        inputs = tensor_inputs(self.prepared, replace(self.outside, live=live), self.limits)
        below = level_of(
            joined(pilot.below for pilot in some if pilot.below is not None),
            path_counts(self.prepared.lattice)[1],
        )
        start = time.process_time()
        try:
            made_root(inputs, below, self._watch(_SECONDS))
        except LimitError:
            return apart * pairs / few
        together = time.process_time() - start
        once = min(max(0.0, (apart - together) / max(1, len(some) - 1)), _ONCE * together)
        return once + (together - once) * pairs / few


def _with_largest(pilots: list[Pilot]) -> list[Pilot]:
    """Keep the tensors of a few pilots only: those with the most products at the root."""
    ranked = sorted(pilots, key=lambda pilot: -pilot.sizes[0].pairs)
    rest = {pilot.feature for pilot in ranked[_TOGETHER:]}
    return [replace(p, below=None) if p.feature in rest else p for p in pilots]


def thinned(words: Array, bits: int) -> Array:
    """Take 1 of 2^bits keys, as words: of all possible keys the same, and fewer with more bits."""
    mixed = (words.astype(np.uint64) * _ODD[: words.shape[1]]).sum(axis=1, dtype=np.uint64)
    mixed = (mixed ^ mixed >> np.uint64(29)) * _ODD[0]
    found: Array = words[mixed >> np.uint64(32) & np.uint64(2**bits - 1) == 0]
    return found
