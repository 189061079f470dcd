"""The setting of the experiments: the paper's Sec. 5.1, with our conventions for what it omits."""

from dataclasses import asdict, dataclass
from typing import Any

from adtc.engine.query import Space


@dataclass(frozen=True, slots=True)
class Setting:
    """What holds unless an experiment says otherwise.

    Parameters
    ----------
    max_depth, relminsup, max_size, nbins
        The paper's maxdep, relminsup, siz and nbins.
    rows
        Rows of the experiment on siz (the paper's 640).
    depth
        Depth of the experiment on siz (the paper's 4).
    seed
        Of the random samples of rows.
    """

    max_depth: int = 5
    relminsup: str = "0.15"
    max_size: int = 6
    nbins: int = 7
    rows: int = 640
    depth: int = 4
    seed: int = 0

    def space(self, *, max_depth: int | None = None, max_size: int | None = None) -> Space:
        """Return the space of trees, with another depth or size if given."""
        return Space(
            self.max_depth if max_depth is None else max_depth,
            relminsup=self.relminsup,
            max_size=self.max_size if max_size is None else max_size,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the setting as plain JSON values."""
        return asdict(self)
