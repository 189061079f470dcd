"""Every optimisation of the fast engine can be switched off; the answer must not change."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Switches:
    """Which optimisations are on.

    Parameters
    ----------
    push
        Turn atoms of the constraint into budgets inside the computation.
    round
        Round the coefficients of budgets that would need 64 bits, and loosen their limits by that.
    combine
        Add budgets that combine two atoms, with multipliers sought on shallow trees.
    dense
        Add into arrays over all keys, not hash tables, where there are more products than keys.
    merge_features
        Let one feature stand for its twins and complements.
    merge_rows
        Put equal rows together with a weight.
    inclusion
        Count pairs only where the last literals hold; the other signs follow from that.
    """

    push: bool = True
    round: bool = True
    combine: bool = True
    dense: bool = True
    merge_features: bool = True
    merge_rows: bool = False
    inclusion: bool = True
