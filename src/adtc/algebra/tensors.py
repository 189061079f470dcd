"""Model behaviour tensors: semiring values by index (the paper's Sec. 3.3).

A tensor is a dict from index to non-zero value. `lift` turns a semiring R and a vector of metrics
into the semiring of tensors over R (the lifting lemma), so one algorithm serves both.
Our choices: indices are the metrics' own values, counted from 0; the paper's convolution means
T1(k1) · T0(k0) summed over k1 ∘ k0 = k.

Legend: R semiring, T1 T0 tensors of the two children, k1 k0 their indices, k = k1 ∘ k0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from adtc.algebra.metrics import Primitive
from adtc.algebra.semiring import Semiring

R = TypeVar("R")
Index = tuple[float, ...]
Tensor = dict[Index, R]


@dataclass(slots=True)
class Scan:
    """Counts the cell pairs that ⊗ has looked at: the paper's ``cell_scan``."""

    cells: int = 0


def singleton(index: Index, value: R, semiring: Semiring[R]) -> Tensor[R]:
    """Return [i = index] value: zero everywhere else."""
    return {} if value == semiring.zero else {index: value}


def lift(
    semiring: Semiring[R],
    metrics: Sequence[Primitive],
    *,
    shape: Sequence[float],
    scan: Scan | None = None,
) -> Semiring[Tensor[R]]:
    """Return the semiring of tensors over ``semiring`` indexed by ``metrics``.

    Parameters
    ----------
    shape
        Largest index kept on each axis (∞ keeps all): ⊗ is truncated beyond it.
    scan
        Where to count scanned cell pairs.

    Notes
    -----
    The lifting lemma of Sec. 3.3.
    """
    combine = _joiner(metrics, shape)
    counter = Scan() if scan is None else scan

    def add(T1: Tensor[R], T0: Tensor[R]) -> Tensor[R]:
        total = dict(T1)
        for k, value in T0.items():
            _accumulate(total, k, value, semiring)
        return total

    def convolve(T1: Tensor[R], T0: Tensor[R], mul: Callable[[R, R], R]) -> Tensor[R]:
        counter.cells += len(T1) * len(T0)
        total: Tensor[R] = {}
        for k1, a in T1.items():
            for k0, b in T0.items():
                k = combine(k1, k0)
                if k is not None:
                    _accumulate(total, k, mul(a, b), semiring)
        return total

    def split(f: int, T1: Tensor[R], T0: Tensor[R]) -> Tensor[R]:
        return convolve(T1, T0, lambda a, b: semiring.node(f, a, b))

    return Semiring(
        name=f"tensors over {semiring.name}",
        zero={},
        one={tuple(metric.identity for metric in metrics): semiring.one},
        add=add,
        mul=lambda T1, T0: convolve(T1, T0, semiring.mul),
        split=split,
    )


def _joiner(
    metrics: Sequence[Primitive], shape: Sequence[float]
) -> Callable[[Index, Index], Index | None]:
    """Combine indices axis by axis; None where an axis has no value or leaves the shape."""

    def combine(k1: Index, k0: Index) -> Index | None:
        k = []
        for metric, largest, a, b in zip(metrics, shape, k1, k0, strict=True):
            value = metric.combine(a, b)  # type: ignore[arg-type]  # ∞ occurs in the unit only
            if value is None or value > largest:
                return None
            k.append(value)
        return tuple(k)

    return combine


def _accumulate(total: Tensor[R], k: Index, value: R, semiring: Semiring[R]) -> None:
    value = semiring.add(total[k], value) if k in total else value
    if value == semiring.zero:
        total.pop(k, None)  # values may cancel: a tensor holds non-zero cells only
    else:
        total[k] = value
