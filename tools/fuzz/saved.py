"""Files that adtc wrote, damaged or forged: saved profiles and certificates.

Half of them are sealed anew after the change, so that the digest does not tell it.
"""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from random import Random

from mutating import change_bytes, change_json
from target import ACCEPTED, Trial, WrongError

import adtc
from adtc.certificates import verify as verifier
from adtc.profiles.saved.archive import write_archive

DIGITS = 64
PEOPLE = """\
age;job;sex;used;y
25;cook;f;yes;yes
31;clerk;m;yes;no
47;cook;f;no;yes
52;?;m;yes;no
38;clerk;f;no;no
29;cook;m;yes;yes
"""


def people(folder: Path) -> adtc.Data:
    """Read the table that all of these files are about."""
    path = folder / "people.csv"
    path.write_text(PEOPLE, encoding="utf-8")
    return adtc.read(
        path, target="y", sensitive="sex", references=["used"], na=["?"], cuts={"age": [30, 45]}
    )


def prepare_profiles(folder: Path) -> Trial:
    """Make the trial of saved profiles."""
    data = people(folder)
    corpus = []
    for metrics, depth, circuit in (
        (["size", "acc"], 2, True),
        (["error", "dp", "agreement[used]"], 1, True),
        (["size", "f1", "support"], 2, False),
    ):
        profile = adtc.profile(data, adtc.Space(max_depth=depth), metrics)
        corpus.append(profile.save(folder / "seed.adtc", circuit=circuit).read_bytes())
    members = [_members(content) for content in corpus]

    def generate(random: Random) -> bytes:
        chosen = random.randrange(len(corpus))
        kind = random.random()
        if kind < 0.3:
            return change_bytes(random, corpus[chosen], corpus)
        if kind < 0.5:
            changed = change_bytes(random, corpus[chosen][:-DIGITS], corpus)
            return changed + hashlib.sha256(changed).hexdigest().encode()
        return _forged(random, dict(members[chosen]))

    def call(content: bytes) -> int:
        path = folder / "tried.adtc"
        path.write_bytes(content)
        profile = adtc.load_profile(path)
        if profile.count and profile.source is not None:
            profile.draw(1, seed=0)
        profile.where("size <= 2 or true")
        return ACCEPTED

    return Trial(generate, call)


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != "mimetype"}


def _forged(random: Random, members: dict[str, bytes]) -> bytes:
    """Change what a profile says, and seal it as its maker would."""
    name = random.choice(list(members))
    if name.endswith(".json"):
        changed = change_json(random, json.loads(members[name]))
        members[name] = json.dumps(changed).encode()
    else:
        members[name] = change_bytes(random, members[name])
    about = json.loads(members.pop("manifest.json").replace(rb"\ud800", b"?"))
    about = about if isinstance(about, dict) else {"version": about}
    stream = io.BytesIO()
    about.pop("members", None)  # written anew
    write_archive(stream, members.items(), about)
    return stream.getvalue()


def prepare_certificates(folder: Path) -> Trial:
    """Make the trial of certificates."""
    data, space = people(folder), adtc.Space(max_depth=2)
    table = folder / "people.csv"
    made = [
        adtc.certify(data, space, "acc >= 0.6 and dp <= 0.4"),
        adtc.certify(data, space, "acc > 1"),
        adtc.certify(data, space, "size <= 3", minimize="error + size"),
        adtc.certify(data, space, "acc >= 0.5", claim="existence"),
        adtc.certify_alternative(data, space, baseline="used"),
    ]
    corpus = [certificate.to_bytes() for certificate in made]
    verifier.WORK = 20_000  # what takes longer goes to the engine

    def generate(random: Random) -> tuple[bytes, bytes]:
        content, rows = random.choice(corpus), PEOPLE.encode()
        if random.random() < 0.1:
            rows = change_bytes(random, rows)
        if random.random() < 0.25:
            return change_bytes(random, content, corpus), rows
        if random.random() < 0.02:
            deep = random.choice((b"[", b'{"label":', b'{"t1":')) * random.choice((10, 10**5))
            return content[:-2] + b',"x":' + deep + b"}", rows
        changed = change_json(random, json.loads(content))
        if isinstance(changed, dict):
            changed["sha256"] = "0" * DIGITS
        told = json.dumps(changed, ensure_ascii=False).encode("utf-8", "replace")
        return verifier.sealed(told), rows

    def call(given: tuple[bytes, bytes]) -> int:
        content, rows = given
        path = folder / "claim.json"
        path.write_bytes(content)
        table.write_bytes(rows)
        monitor = adtc.Monitor(time_limit=10, threads=1)
        found = adtc.verify(path, table, monitor=monitor)
        if found.valid and content not in corpus and not _same_claim(content, corpus):
            raise WrongError("a changed claim was found valid")
        return ACCEPTED

    return Trial(generate, call)


def _same_claim(content: bytes, corpus: list[bytes]) -> bool:
    """Tell whether what a certificate claims is what one of ours does."""
    claim = json.loads(content)
    ours = [json.loads(other) for other in corpus]
    return any(claim["claim"] == other["claim"] for other in ours)
