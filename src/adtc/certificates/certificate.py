"""A certificate as a value: plain JSON under a digest, written to a file or shown."""

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from adtc.atomic import write_whole
from adtc.certificates import verify as plain


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
        return str(self.document["kind"])

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
        found: int | None = self.document["answer"]["count"]
        return found

    @property
    def proved(self) -> bool | None:
        """Tell whether a linear form proves that no tree is better; None if that is not claimed.

        Where it is claimed but there is no such form, others can count the trees.
        """
        none = [
            p for (_, n), p in zip(self.formulas, self.document["proofs"], strict=True) if not n
        ]
        forms = [proof is not None and proof["least"] is not None for proof in none]
        return all(forms) if forms else None

    @property
    def formulas(self) -> list[tuple[str, int]]:
        """List the formulas on which the claim stands, each with its number of trees."""
        return plain.formulas_of(self.document)

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
