"""A certificate as a value: plain JSON under a digest, written to a file or shown."""

import json
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from adtc.atomic import write_whole
from adtc.certificates import verify as plain

BY_GROUP = ("rows", "selected", "selection_rate", "impact_ratio")


@dataclass(frozen=True, slots=True)
class Certificate:
    """A claim about all trees of a space, with what is needed to check it.

    Parameters
    ----------
    document
        The certificate as plain JSON values, without its digest.
    """

    document: dict[str, Any]

    @property
    def kind(self) -> str:
        """Say what is claimed: count, existence, optimum, none or alternative."""
        return str(self.document["question"]["kind"])

    @property
    def claim(self) -> str:
        """Return the claim in words."""
        return str(self.document["claim"])

    @property
    def status(self) -> str:
        """Return the status of the answer: only what is exact is certified."""
        return str(self.document["status"])

    @property
    def count(self) -> int | None:
        """Return the number of trees, if the claim has one."""
        found: int | None = self.document["statements"][0]["trees"]
        return found

    @property
    def value(self) -> str | None:
        """Return the best value as a fraction, if the claim has one."""
        if self.kind not in ("optimum", "alternative") or self.count == 0:
            return None
        where = self.document["statements"][0 if self.kind == "optimum" else 1]["where"]
        *_, value = where[-1] if where[0] == "and" else where
        return str(Fraction(value))

    @property
    def baseline(self) -> str | None:
        """Return the gap of the decisions in use, if the claim compares with them."""
        use = self.document["in_use"]
        return None if use is None else str(use["where"][-1])

    @property
    def shown(self) -> dict[str, Any] | None:
        """Return the tree shown, with its metrics."""
        trees = (one["shown"] for one in self.document["statements"])
        return next((tree for tree in trees if tree is not None), None)

    @property
    def rules(self) -> list[str]:
        """Return the tree shown as one rule for each leaf."""
        return [] if self.shown is None else _rules(self.shown["tree"])

    @property
    def proved(self) -> bool | None:
        """Tell whether a linear form proves that no tree is better; None if that is not claimed.

        Where it is claimed but there is no such form, others can count the trees.
        """
        none = [one["proof"] for one in self.document["statements"] if one["trees"] == 0]
        forms = [proof is not None and is_proof(proof) for proof in none]
        return all(forms) if forms else None

    def __str__(self) -> str:
        return self.claim

    def to_bytes(self) -> bytes:
        """Write the file's content, the digest over all of it included."""
        document = {**self.document, "sha256": plain.BLANK.decode()}
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        return plain.sealed(f"{text}\n".encode())

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the certificate as a JSON file, completely or not at all."""
        write_whole(path, self.to_bytes())
        return Path(path)


def is_proof(proof: dict[str, Any]) -> bool:
    """Tell whether a form, which is at most 0 on trees that are sought, is more on all trees."""
    return Fraction(proof["least"]) > 0


def groups_of(document: dict[str, Any], metrics: dict[str, Any]) -> list[dict[str, Any]]:
    """List the metrics of every group, which certificates hold by names like ``rows[female]``."""
    coding = document["table"]["recipe"]["codes"].get("group")
    tests = coding["tests"] if coding is not None else []
    names = [plain.as_text(plain.named(coding["column"], test, label=True)) for test in tests]
    return [
        {"group": name, **{x: metrics[f"{x}[{name}]"] for x in BY_GROUP}}
        for name in names
        if f"rows[{name}]" in metrics
    ]


def _rules(tree: dict[str, Any], tests: tuple[str, ...] = ()) -> list[str]:
    if "label" in tree:
        return [f"{'if ' + ' and '.join(tests) + ' then' if tests else 'always'} {tree['label']}"]
    name = tree["feature"]
    denied = f"not ({name})" if " " in name else f"not {name}"
    return _rules(tree["yes"], (*tests, name)) + _rules(tree["no"], (*tests, denied))
