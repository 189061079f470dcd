"""How the trees that a command shows are chosen: at random, by rank, the best, or far apart."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from adtc.cli import text
from adtc.cli.sources import Opened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adtc.profiles.numbered import DrawnTree

PICKS = ("uniform", "spread", "different")


@dataclass(frozen=True, slots=True)
class Picking:
    """What the options of `adtc draw` say about the trees to choose; None where not given."""

    n: int | None
    seed: int | None
    ranks: tuple[int, ...]
    maximize: str | None
    minimize: str | None
    pick: str | None

    def __post_init__(self) -> None:
        from adtc.errors import QueryError

        ways = self._ways
        if len(ways) > 1:
            raise QueryError(
                f"{ways[0]} and {ways[1]} are two ways to choose trees: give one of them."
            )
        if self.ranks and self.n is not None:
            raise QueryError("--rank names the trees, so -n cannot say how many: leave one out.")
        if self.seed is not None and ways and self.pick not in ("uniform", "different"):
            raise QueryError(f"nothing is drawn at random with {ways[0]}: leave out --seed.")

    @property
    def _ways(self) -> list[str]:
        given = {
            "--rank": bool(self.ranks),
            "--pick": self.pick is not None,
            "--maximize": self.maximize is not None,
            "--minimize": self.minimize is not None,
        }
        return [way for way, used in given.items() if used]

    @property
    def goals(self) -> list[str]:
        """List the metric that the best trees are best in, if these are wanted."""
        return [goal for goal in (self.maximize, self.minimize) if goal is not None]

    def trees(self, source: Opened) -> "list[DrawnTree]":
        """Choose trees of a source; their ranks are those in the whole profile."""
        from adtc.errors import QueryError

        n = self.n or 1
        if self.ranks:
            return self._by_rank(source)
        if not self.goals and self.pick in (None, "uniform"):
            return source.profile.draw(n, where=source.where, seed=self.seed)
        chosen = source.chosen
        if not chosen.total:
            what = f"'{source.where}'" if source.where else "the constraints of this profile"
            raise QueryError(f"no tree satisfies {what}, so there is none to show: ask for less.")
        if self.pick == "spread":
            found = chosen.spread(n)
        elif self.pick == "different":
            found = chosen.different(n, seed=self.seed)
        else:
            found = chosen.best(n, maximize=self.maximize, minimize=self.minimize)
        return [replace(one, rank=source.profile.rank(one)) for one in found]

    def _by_rank(self, source: Opened) -> "list[DrawnTree]":
        from adtc.errors import QueryError

        if source.where is not None:
            raise QueryError(
                "--rank names trees of the whole profile, so --where cannot choose among them: "
                "leave one out."
            )
        return [source.profile.tree(rank) for rank in self.ranks]

    def heading(self, source: Opened, found: "Sequence[DrawnTree]") -> str:
        """Say how the trees were chosen and from how many."""
        n, count = text.trees(len(found)), source.profile.total
        if self.ranks:
            how = f"{n} by rank"
        elif self.goals:
            best = f"the best {n}" if len(found) > 1 else "the best tree"
            how = f"{best} by {'largest' if self.maximize else 'least'} {self.goals[0]}"
        elif self.pick == "spread":
            how = f"{n} whose metrics lie far apart"
        elif self.pick == "different":
            how = f"{n} that predict differently"
        else:
            among = source.chosen.total if source.where else count
            how = f"{n} drawn, each of {among:,} with the same probability"
        seeded = f" (seed {found[0].seed})" if found and found[0].seed is not None else ""
        status = source.profile.record.status_text
        return f"{how}{seeded}; ranks run from 0 to {count - 1:,} ({status})"
